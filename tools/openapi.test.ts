import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type Reason, Refused } from "../src/console/refusals.ts";
import { API_REFUSALS, type ApiReason } from "../src/gateway/api/refusals.ts";
import { type GatewayReason, REFUSALS } from "../src/gateway/refusals.ts";

// What must hold for the descriptions of the APIs as documents; that the APIs are so is for test/api and test/integration.
const FOLDER = join(import.meta.dirname, "../docs/openapi");
const METHODS = new Set(["get", "put", "post", "delete", "patch", "head", "options", "trace"]);

interface MediaType {
  readonly schema?: unknown;
  readonly examples?: Readonly<
    Record<string, { readonly value: { readonly error?: string; readonly message?: string } }>
  >;
}
interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}
interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, Response>>;
}
interface Description {
  readonly security?: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>> };
}

/** Status that the program sends a refusal with. @throws TypeError when there is none of this code */
const statusOf = (code: string): number =>
  (API_REFUSALS[code as ApiReason] ?? REFUSALS[code as GatewayReason] ?? new Refused(code as Reason)).status;

describe.each(["v1.yaml", "destination-v1.yaml"])("the description %s", (file) => {
  const description = parse(readFileSync(join(FOLDER, file), "utf8")) as Description;
  const operations = Object.entries(description.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({ name: `${method} ${path}`, ...operation })),
  );
  const resolved = (response: Response): Response =>
    response.$ref === undefined
      ? response
      : (description.components.responses[response.$ref.split("/").at(-1) ?? ""] ?? {});
  const placeOf = (name: string, status: string) => {
    const [method = "", path = ""] = name.split(" ");
    return `#/paths/${encodeURIComponent(path.replaceAll("~", "~0").replaceAll("/", "~1"))}/${method}/responses/${status}`;
  };
  const refusals = operations.flatMap(({ name, responses }) =>
    Object.entries(responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, response]) => ({
        name: `${name} ${status}`,
        status: Number(status),
        place: response.$ref ?? placeOf(name, status),
        ...resolved(response),
      })),
  );

  test("names every operation once, and says what it does and what it takes to call it", () => {
    expect(operations.length).toBeGreaterThan(10);
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids).toEqual([...new Set(ids)]);
    for (const { name, operationId, summary, security = description.security } of operations) {
      expect([name, operationId, summary]).toEqual([
        name,
        expect.stringMatching(/^[a-z][A-Za-z]+$/),
        expect.stringMatching(/./),
      ]);
      expect([name, security?.length ?? 0]).toEqual([name, 1]);
    }
  });

  test("says of every operation how it refuses bad input, strangers, other methods, and what it cannot do now", () => {
    for (const { name, responses } of operations)
      expect([name, ...Object.keys(responses)]).toEqual(
        expect.arrayContaining(["400", "401", "405", "413", "417", "429", "503"]),
      );
  });

  test("shows an example of every refusal, under its code", () => {
    expect(refusals.length).toBeGreaterThan(80);
    for (const { name, description: text, content } of refusals) {
      const { schema, examples = {} } = content?.["application/json"] ?? {};
      expect([name, text, schema !== undefined, Object.keys(examples).length > 0]).toEqual([
        name,
        expect.stringMatching(/./),
        true,
        true,
      ]);
      for (const [code, { value }] of Object.entries(examples))
        expect([name, value.error, typeof value.message]).toEqual([name, code, "string"]);
    }
  });

  test("shows refusals as the program makes them: with their status, and as the schema says", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { "date-time": true } }).addSchema(
      description,
      "api",
    );
    for (const { name, status, place, content } of new Map(refusals.map((one) => [one.place, one])).values()) {
      const validate = ajv.compile({ $ref: `api${place}/content/application~1json/schema` });
      for (const [code, { value }] of Object.entries(content?.["application/json"]?.examples ?? {})) {
        expect([name, code, statusOf(code)]).toEqual([name, code, status]);
        expect([name, code, validate(value), validate.errors]).toEqual([name, code, true, null]);
      }
    }
  });

  test("tells when to come again, how to authenticate and which methods there are", () => {
    const header: Readonly<Record<number, string>> = {
      401: "WWW-Authenticate",
      405: "Allow",
      429: "Retry-After",
      503: "Retry-After",
    };
    for (const { name, status, headers = {} } of refusals)
      expect([name, Object.keys(headers)]).toEqual([name, header[status] === undefined ? [] : [header[status]]]);
  });
});
