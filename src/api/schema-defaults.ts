import { isRecord } from "../lib/record.ts";
import type { StructuralSchema } from "./crd.ts";

/**
 * A copy of the object without fields that are null, as the API server stores it: none of ours is nullable, so `retry: null` says the same as
 * leaving it out. Elements of lists, and fields the schema does not know, stay for the checks to refuse.
 */
export function withoutNulls(schema: StructuralSchema, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(schema.items ?? {}, item));
  if (!isRecord(value)) return value;
  const { properties = {}, additionalProperties } = schema;
  const kept = Object.entries(value).flatMap(([key, child]) => {
    const childSchema = properties[key] ?? additionalProperties;
    if (childSchema === undefined) return [[key, child] as const];
    return child === null ? [] : [[key, withoutNulls(childSchema, child)] as const];
  });
  return Object.fromEntries(kept);
}

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
