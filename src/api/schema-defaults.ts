import { isRecord } from "../lib/record.ts";
import type { StructuralSchema } from "./crd.ts";

/**
 * A copy of the object with the schema's defaults filled in where a parent is present, as the API server does before it validates.
 */
export function withSchemaDefaults(schema: StructuralSchema, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withSchemaDefaults(schema.items ?? {}, item));
  if (!isRecord(value)) return value;
  const { properties = {}, additionalProperties = {} } = schema;
  const defaults = Object.entries(properties).flatMap(([key, child]) =>
    child.default === undefined ? [] : [[key, child.default] as const],
  );
  const written = Object.entries(value).map(
    ([key, child]) => [key, withSchemaDefaults(properties[key] ?? additionalProperties, child)] as const,
  );
  return Object.fromEntries([...defaults, ...written]);
}
