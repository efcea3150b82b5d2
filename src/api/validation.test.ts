import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type CelRule, crdSchema, type StructuralSchema } from "./crd.ts";
import { checkStructure, validateRoute } from "./validation.ts";

const FIXTURES = new URL("../../test/crds/", import.meta.url);

interface Fixture {
  readonly name: string;
  readonly object: unknown;
  readonly previous: unknown;
  /** From the first line, `# expect: PATH: TEXT`. */
  readonly path: string;
  readonly text: string;
}

function fixtures(directory: string): Fixture[] {
  const names = readdirSync(new URL(`${directory}/`, FIXTURES)).map((file) => file.replace(/\.yaml$/, ""));
  const read = (name: string) => readFileSync(new URL(`${directory}/${name}.yaml`, FIXTURES), "utf8");
  return names
    .filter((name) => !name.endsWith(".previous"))
    .map((name) => {
      const text = read(name);
      const [, path = "", expected = ""] = /^# expect: (.+?): (.+)$/m.exec(text) ?? [];
      const previous = names.includes(`${name}.previous`) ? parse(read(`${name}.previous`)) : undefined;
      return { name, object: parse(text), previous, path, text: expected };
    });
}

function errorsOf(fixture: Fixture) {
  const { problems } = validateRoute(fixture.object, { previous: fixture.previous });
  return problems.filter((problem) => problem.severity === "error");
}

function walk(schema: StructuralSchema, visit: (node: StructuralSchema, path: string) => void, path = ""): void {
  visit(schema, path);
  for (const [key, child] of Object.entries(schema.properties ?? {})) walk(child, visit, `${path}.${key}`);
  if (schema.items) walk(schema.items, visit, `${path}[]`);
  if (schema.additionalProperties) walk(schema.additionalProperties, visit, `${path}.*`);
}

describe("a valid manifest", () => {
  test.each(fixtures("valid"))("$name is accepted without an error", (fixture) => {
    expect(errorsOf(fixture)).toEqual([]);
  });
});

describe("a manifest that breaks one rule of the CRD", () => {
  test.each(fixtures("invalid"))("$name is refused for that rule alone: $path: $text", (fixture) => {
    const errors = errorsOf(fixture);
    expect(errors).toEqual([
      expect.objectContaining({ path: fixture.path, message: expect.stringContaining(fixture.text) }),
    ]);
    expect(["schema", "cel"]).toContain(errors[0]?.source);
  });
});

describe("a manifest that the API server accepts and Davit does not", () => {
  test.each(fixtures("refused"))("$name is refused by Davit alone: $path: $text", (fixture) => {
    expect(checkStructure(fixture.object)).toEqual([]);
    expect(errorsOf(fixture)).toEqual([
      expect.objectContaining({ path: fixture.path, message: expect.stringContaining(fixture.text) }),
    ]);
  });
});

describe("the WebhookRoute CRD", () => {
  test("bounds every string, list and map, so that rules stay within the API server's cost limit", () => {
    const unbounded: string[] = [];
    walk(crdSchema("WebhookRoute"), (node, path) => {
      const isText = node.type === "string" || node["x-kubernetes-int-or-string"] === true;
      if (isText && node.maxLength === undefined) unbounded.push(path);
      if (node.type === "array" && node.maxItems === undefined) unbounded.push(path);
      if (node.additionalProperties && node.maxProperties === undefined) unbounded.push(path);
    });
    expect(unbounded).toEqual([]);
  });

  test("gives every list a list type and defaults only scalars outside lists", () => {
    const wrong: string[] = [];
    walk(crdSchema("WebhookRoute"), (node, path) => {
      if (node.type === "array" && node["x-kubernetes-list-type"] === undefined) wrong.push(path);
      if (node.default !== undefined && (path.includes("[]") || typeof node.default === "object")) wrong.push(path);
    });
    expect(wrong).toEqual([]);
  });

  test("has a fixture for each of its rules", () => {
    const rules: CelRule[] = [];
    walk(crdSchema("WebhookRoute"), (node) => rules.push(...(node["x-kubernetes-validations"] ?? [])));
    const covered = fixtures("invalid").map((fixture) => fixture.text);
    const missing = rules.filter((rule) => !covered.some((text) => rule.message?.includes(text)));
    expect(rules.length).toBeGreaterThan(40);
    expect(missing.map((rule) => rule.message)).toEqual([]);
  });

  test("uses only functions of CEL that both the API server and the offline check evaluate", () => {
    const allowed = new Set([
      "has",
      "size",
      "duration",
      "all",
      "exists",
      "exists_one",
      "matches",
      "contains",
      "startsWith",
    ]);
    const used = new Set<string>();
    walk(crdSchema("WebhookRoute"), (node) => {
      for (const { rule } of node["x-kubernetes-validations"] ?? []) {
        for (const [, name = ""] of rule.replaceAll(/'[^']*'/g, "''").matchAll(/([a-zA-Z_]+)\(/g)) used.add(name);
      }
    });
    expect([...used].filter((name) => !allowed.has(name))).toEqual([]);
  });
});

describe("validateRoute", () => {
  const minimal = () => fixtures("valid").find((fixture) => fixture.name === "minimal")?.object;

  test("names the field nearest to an unknown one", () => {
    const object = minimal() as { spec: Record<string, unknown> };
    const { problems } = validateRoute({ ...object, spec: { ...object.spec, destination: [], retentoin: {} } });
    expect(problems.map(({ path, remedy }) => [path, remedy])).toEqual([
      ["spec.destination", "destinations is a list: write one entry"],
      ["spec.retentoin", "did you mean retention?"],
    ]);
  });

  test("says what to write where a pattern alone would not help", () => {
    const object = minimal() as { spec: Record<string, unknown> };
    const spec = {
      ...object.spec,
      exposure: { host: "A.example.com", path: "a" },
      dedupe: { window: "1 day", keyFrom: ["X-Delivery-ID"] },
    };
    expect(validateRoute({ ...object, spec }).problems.map(({ path, remedy }) => [path, remedy])).toEqual([
      ["spec.exposure.host", "write a host name in lower case, without a port"],
      ["spec.exposure.path", "begin with / and leave out query, fragment and percent-encoding"],
      ["spec.dedupe.window", "write a number and a unit (ms, s, m, h), for example 30s or 24h"],
      ["spec.dedupe.keyFrom[0]", "write header:NAME, json:/pointer or form:NAME"],
    ]);
  });

  test("still evaluates rules beside an unknown field, but not on a node that is malformed itself", () => {
    const object = minimal() as { spec: Record<string, unknown> };
    const spec = { ...object.spec, verification: { provider: "github", basic: {}, tolerance: "long" }, x: 1 };
    const { problems } = validateRoute({ ...object, spec });
    expect(problems.map(({ path, source }) => [path, source])).toEqual([
      ["spec.x", "schema"],
      ["spec.verification.tolerance", "schema"],
    ]);
  });

  test("says which provider was meant, or where they are listed", () => {
    const remedyOf = (provider: string) => {
      const object = minimal() as { spec: Record<string, unknown> };
      return validateRoute({ ...object, spec: { ...object.spec, verification: { provider } } }).problems[0]?.remedy;
    };
    expect(remedyOf("githob")).toBe("did you mean github?");
    expect(remedyOf("acme-deliveries")).toContain("davit providers lists those that are known");
  });

  test.each([
    [{ provider: "github" }, {}, []],
    [{ provider: "stripe" }, { rotation: { overlap: "1h" } }, ["spec.rotation.overlap"]],
    [{ token: { header: "X-Token" } }, {}, ["spec.dedupe.keyFrom"]],
    [{ hmac: { header: "X-Signature" } }, {}, ["spec.dedupe.keyFrom"]],
    [{ provider: "github" }, { limits: { rateLimit: { requests: 1, by: "SourceIP" } } }, ["spec.limits.rateLimit.by"]],
    [
      { token: { header: "X-Token" } },
      { dedupe: { keyFrom: ["json:/id"] }, secretRefs: [{ name: "a", key: "b", keyId: "k" }] },
      ["spec.secretRefs[0].keyId"],
    ],
    [
      { provider: "github" },
      { delivery: { retry: { schedule: ["100h"], giveUpAfter: "99h" } } },
      ["spec.delivery.retry.schedule"],
    ],
    [
      { provider: "github" },
      { worker: { dedicated: { replicas: 2, autoscaling: { type: "External" } } } },
      ["spec.worker.dedicated.replicas"],
    ],
  ])("warns about what is allowed but doubtful: %j %j", (verification, more, expected) => {
    const object = minimal() as { spec: Record<string, unknown> };
    const { problems, route } = validateRoute({ ...object, spec: { ...object.spec, verification, ...more } });
    expect(problems.map(({ path, severity }) => [path, severity])).toEqual(expected.map((path) => [path, "warning"]));
    expect(route).toBeDefined();
  });

  test.each([
    [undefined],
    [null],
    [[]],
    ["text"],
    [{ kind: "WebhookRoute" }],
    [{ apiVersion: "davit.dev/v1", kind: "WebhookRoute" }],
  ])("refuses %j, which is no WebhookRoute of this version", (object) => {
    expect(validateRoute(object).problems[0]).toMatchObject({ path: "apiVersion", severity: "error" });
  });

  test("demands a name Kubernetes accepts", () => {
    const object = { ...(minimal() as object), metadata: { name: "Not_a_name" } };
    expect(validateRoute(object).problems[0]).toMatchObject({ path: "metadata.name", severity: "error" });
  });
});
