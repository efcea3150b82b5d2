import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { crdSchema, type Kind, type StructuralSchema } from "./crd.ts";
import { FORMATS } from "./formats.ts";
import { fieldOf } from "../lib/record.ts";
import { toJsonSchema } from "./json-schema.ts";
import { joinPath, type Problem } from "./problem.ts";
import { nearest } from "../lib/nearest.ts";

/** Unknown fields that people write for a reason, and what they meant. */
const UNKNOWN_FIELD_REMEDIES: Readonly<Record<string, string>> = {
  "spec.delivery.retry.maxAttempts":
    "maxAttempts belongs to backoff; a schedule makes one attempt more than it has delays",
  "spec.destination": "destinations is a list: write one entry",
  "spec.secretRef": "secretRefs is a list, current key first",
  "spec.host": "write spec.exposure.host",
  "spec.path": "write spec.exposure.path",
};

/** What to write instead of a text that no regular expression explains to a person. */
const PATTERN_REMEDIES: readonly { readonly pattern: RegExp; readonly remedy: string }[] = [
  { pattern: /\(ms\|s\|m\|h\)/, remedy: "write a number and a unit (ms, s, m, h), for example 30s or 24h" },
  { pattern: /^\^\/\[A-Za-z0-9/, remedy: "begin with / and leave out query, fragment and percent-encoding" },
  { pattern: /^\^https\?:\/\/\(\[/, remedy: "write an absolute URL without a fragment" },
  { pattern: /^\^https\?:/, remedy: "write an absolute URL without user, password and fragment" },
  { pattern: /\|form:/, remedy: "write header:NAME, json:/pointer or form:NAME" },
  { pattern: /^\^\(header:/, remedy: "write header:NAME or json:/pointer" },
  { pattern: /\{0,61\}/, remedy: "write a host name in lower case, without a port" },
];

const compiled = new Map<Kind, ValidateFunction>();

function validator(kind: Kind): ValidateFunction {
  let validate = compiled.get(kind);
  if (validate === undefined) {
    validate = new Ajv({ allErrors: true, strict: false, verbose: true, formats: { ...FORMATS } }).compile(
      toJsonSchema(crdSchema(kind)),
    );
    compiled.set(kind, validate);
  }
  return validate;
}

/**
 * Checks an object against its kind's schema: types, bounds, formats, unknown fields (with the field's path), duplicates in sets and list maps.
 * Messages use the API server's words, so that one search finds both.
 */
export function checkSchema(kind: Kind, object: unknown): Problem[] {
  const validate = validator(kind);
  const problems = validate(object) ? [] : (validate.errors ?? []).map((error) => toProblem(error, object));
  return [...problems, ...findDuplicates(crdSchema(kind), object, "")];
}

/** Whether a problem is an unknown field: it does not keep the rules around it from being evaluated. */
export function isUnknownField(problem: Problem): boolean {
  return problem.source === "schema" && problem.message.startsWith("unknown field");
}

type Wording = (params: Record<string, unknown>, error: ErrorObject) => string;

const WORDING: Readonly<Record<string, Wording>> = {
  required: () => "Required value",
  type: (p) => `must be of type ${String(p["type"]).replace("integer,string", "integer or string")}`,
  enum: (p, e) => `Unsupported value: ${JSON.stringify(e.data)}: supported values: ${quoted(p["allowedValues"])}`,
  pattern: (p) => `should match '${String(p["pattern"])}'`,
  format: (p) => `must be of type ${String(p["format"])}`,
  maxLength: (p) => `Too long: may not be more than ${String(p["limit"])} characters`,
  minLength: (p) => `should be at least ${String(p["limit"])} chars long`,
  maximum: (p) => `should be less than or equal to ${String(p["limit"])}`,
  minimum: (p) => `should be greater than or equal to ${String(p["limit"])}`,
  maxItems: (p) => `Too many: must have at most ${String(p["limit"])} items`,
  minItems: (p) => `should have at least ${String(p["limit"])} items`,
  maxProperties: (p) => `Too many: must have at most ${String(p["limit"])} items`,
  minProperties: (p) => `should have at least ${String(p["limit"])} properties`,
};

function quoted(values: unknown): string {
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(", ") : String(values);
}

const BASE = { source: "schema", severity: "error" } as const;

function toProblem(error: ErrorObject, object: unknown): Problem {
  const path = fieldPath(error.instancePath, object);
  if (error.keyword === "additionalProperties") return unknownField(error, path);
  const params = error.params as Record<string, unknown>;
  const at = error.keyword === "required" ? joinPath(path, String(params["missingProperty"])) : path;
  const message = WORDING[error.keyword]?.(params, error) ?? error.message ?? error.keyword;
  return { ...BASE, path: at, message, ...patternRemedy(error.keyword, params["pattern"]) };
}

function unknownField(error: ErrorObject, parent: string): Problem {
  const name = String((error.params as Record<string, unknown>)["additionalProperty"]);
  const path = joinPath(parent, name);
  const near = nearest(name, Object.keys(error.parentSchema?.["properties"] ?? {}));
  const remedy = UNKNOWN_FIELD_REMEDIES[path] ?? (near === undefined ? "remove it" : `did you mean ${near}?`);
  return { ...BASE, path, message: `unknown field "${path}"`, remedy };
}

function patternRemedy(keyword: string, pattern: unknown): Pick<Problem, "remedy"> {
  if (keyword !== "pattern") return {};
  const found = PATTERN_REMEDIES.find((candidate) => candidate.pattern.test(String(pattern)));
  return found === undefined ? {} : { remedy: found.remedy };
}

/** A JSON Pointer of ajv as a field path: only the object tells list indexes and map keys apart. */
function fieldPath(pointer: string, object: unknown): string {
  let value = object;
  let path = "";
  for (const token of pointer.split("/").slice(1)) {
    const step = token.replaceAll("~1", "/").replaceAll("~0", "~");
    path = joinPath(path, Array.isArray(value) ? Number(step) : step);
    value = Array.isArray(value) ? value[Number(step)] : fieldOf(value, step);
  }
  return path;
}

/** Elements that a list of type set or map holds twice, which JSON Schema cannot say of maps. */
function findDuplicates(schema: StructuralSchema, value: unknown, path: string): Problem[] {
  if (Array.isArray(value)) {
    const inner = value.flatMap((item, index) => findDuplicates(schema.items ?? {}, item, joinPath(path, index)));
    return [...repeated(schema, value, path), ...inner];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const childSchema = schema.properties?.[key] ?? schema.additionalProperties;
    return childSchema === undefined ? [] : findDuplicates(childSchema, child, joinPath(path, key));
  });
}

function repeated(schema: StructuralSchema, list: readonly unknown[], path: string): Problem[] {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "set" && type !== "map") return [];
  const identities = list.map((item) => JSON.stringify(type === "set" ? item : listMapKey(schema, item)));
  return identities.flatMap((identity, index) =>
    identities.indexOf(identity) === index
      ? []
      : [
          {
            path: joinPath(path, index),
            message: `Duplicate value: ${identity}`,
            source: "schema" as const,
            severity: "error" as const,
          },
        ],
  );
}

/** The values that identify an element of a list map. */
export function listMapKey(schema: StructuralSchema, item: unknown): readonly unknown[] {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  return keys.map((key) => fieldOf(item, key));
}
