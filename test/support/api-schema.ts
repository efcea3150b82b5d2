import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";

const FILE = join(import.meta.dirname, "../../docs/openapi/v1.yaml");

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
}

/** The description of the API as it stands in `docs/openapi/v1.yaml`. */
export const apiDescription = parse(readFileSync(FILE, "utf8")) as {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

// OpenAPI 3.1 schemas are JSON Schema 2020-12; what else stands in the document is no schema.
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { "date-time": true } });
ajv.addSchema(apiDescription, "api");

const escaped = (step: string) => encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1"));

/** What is wrong with a value by a schema of `components.schemas`; empty when nothing is. */
export function schemaProblems(name: string, value: unknown): readonly string[] {
  return problems(`#/components/schemas/${name}`, value);
}

/** What is wrong with an answer by the description of its endpoint; empty when nothing is. */
export function answerProblems(
  { path, method }: { readonly path: string; readonly method: string },
  { status, headers, body }: { readonly status: number; readonly headers: Headers; readonly body: unknown },
): readonly string[] {
  const response = apiDescription.paths[path]?.[method]?.responses[String(status)] as
    | { readonly $ref?: string; readonly headers?: Readonly<Record<string, unknown>> }
    | undefined;
  if (response === undefined) return [`${status} is not described`];
  const place = response.$ref ?? `#/paths/${escaped(path)}/${method}/responses/${status}`;
  const missing = Object.keys(response.headers ?? {}).filter((name) => !headers.has(name));
  return [
    ...missing.map((name) => `${status} has no ${name}`),
    ...problems(`${place}/content/${escaped("application/json")}/schema`, body),
  ];
}

function problems(place: string, value: unknown): readonly string[] {
  const validate = ajv.compile({ $ref: `api${place}` });
  return validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
