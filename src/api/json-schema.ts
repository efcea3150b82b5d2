import type { StructuralSchema } from "./crd.ts";

/** A JSON Schema (draft-07) as plain data. */
export type JsonSchema = Record<string, unknown>;

const COPIED = [
  "type",
  "description",
  "format",
  "enum",
  "required",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
] as const;

/**
 * Turns a structural schema into JSON Schema. The API server drops unknown fields (or refuses them, with strict field validation); here they
 * are refused: objects with known properties, and objects that have none at all, are closed. `metadata` stays open, it is Kubernetes' own.
 */
export function toJsonSchema(schema: StructuralSchema, name = ""): JsonSchema {
  const out: JsonSchema = {};
  for (const key of COPIED) if (schema[key] !== undefined) out[key] = schema[key];
  // A number beyond 64 bits is no integer for the API server.
  if (schema["x-kubernetes-int-or-string"] === true)
    Object.assign(out, { type: ["integer", "string"], format: "int64" });
  if (schema.items !== undefined) out["items"] = toJsonSchema(schema.items);
  if (schema.properties !== undefined) out["properties"] = mapValues(schema.properties, toJsonSchema);
  if (schema.type === "object" && name !== "metadata") {
    out["additionalProperties"] =
      schema.additionalProperties === undefined ? false : toJsonSchema(schema.additionalProperties);
  }
  return out;
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A, key: string) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
