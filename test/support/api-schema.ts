import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
}

/** A description as it stands in a file of `docs/openapi/`. */
interface ApiDescription {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

function described(file: string): ApiDescription {
  return parse(readFileSync(join(import.meta.dirname, "../../docs/openapi", file), "utf8")) as ApiDescription;
}

/** The API of operators and producers. */
export const apiDescription = described("v1.yaml");
/** The API of holders of a destination's token. */
export const holderApiDescription = described("destination-v1.yaml");

// OpenAPI 3.1 schemas are JSON Schema 2020-12; what else stands in the document is no schema.
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { "date-time": true } });
ajv.addSchema(apiDescription, "api");
ajv.addSchema(holderApiDescription, "holder");

const escaped = (step: string) => encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1"));

/** What is wrong with a value by a schema of `components.schemas`; empty when nothing is. */
export function schemaProblems(name: string, value: unknown): readonly string[] {
  return problems(`#/components/schemas/${name}`, value);
}

/** What is wrong with an answer by the description of its endpoint; empty when nothing is. */
export function answerProblems(
  { path, method, of = "api" }: { readonly path: string; readonly method: string; readonly of?: "api" | "holder" },
  { status, headers, body }: { readonly status: number; readonly headers: Headers; readonly body: unknown },
): readonly string[] {
  const description = of === "api" ? apiDescription : holderApiDescription;
  const response = description.paths[path]?.[method]?.responses[String(status)] as
    | { readonly $ref?: string; readonly headers?: Readonly<Record<string, unknown>> }
    | undefined;
  if (response === undefined) return [`${status} is not described`];
  const place = response.$ref ?? `#/paths/${escaped(path)}/${method}/responses/${status}`;
  const missing = Object.keys(response.headers ?? {}).filter((name) => !headers.has(name));
  return [
    ...missing.map((name) => `${status} has no ${name}`),
    ...problems(`${place}/content/${escaped("application/json")}/schema`, body, of),
  ];
}

const compiled = new Map<string, ValidateFunction>();

function problems(place: string, value: unknown, of: "api" | "holder" = "api"): readonly string[] {
  const ref = `${of}${place}`;
  const validate = compiled.get(ref) ?? ajv.compile({ $ref: ref });
  compiled.set(ref, validate);
  return validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
