import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type CelRule, crdSchema, type StructuralSchema } from "./crd.ts";
import { resolveDestinationSpec } from "./destination-defaults.ts";
import { validateDestination } from "./destination-validation.ts";
import { checkStructure } from "./validation.ts";

const FIXTURES = new URL("../../test/crds/webhook-destination/", import.meta.url);

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

function errorsOf({ object, previous }: Fixture) {
  return validateDestination(object, { previous }).problems.filter(({ severity }) => severity === "error");
}

function walk(schema: StructuralSchema, visit: (node: StructuralSchema, path: string) => void, path = ""): void {
  visit(schema, path);
  for (const [key, child] of Object.entries(schema.properties ?? {})) walk(child, visit, `${path}.${key}`);
  if (schema.items) walk(schema.items, visit, `${path}[]`);
  if (schema.additionalProperties) walk(schema.additionalProperties, visit, `${path}.*`);
}

describe("a WebhookDestination", () => {
  test.each(fixtures("valid"))("$name is accepted without an error", (fixture) => {
    expect(errorsOf(fixture)).toEqual([]);
  });

  test.each(fixtures("invalid"))("$name is refused for one rule alone: $path: $text", (fixture) => {
    const errors = errorsOf(fixture);
    expect(errors).toEqual([
      expect.objectContaining({ path: fixture.path, message: expect.stringContaining(fixture.text) }),
    ]);
    expect(["schema", "cel"]).toContain(errors[0]?.source);
  });

  test.each(fixtures("refused"))("$name is refused by Davit alone: $path: $text", (fixture) => {
    expect(checkStructure(fixture.object, undefined, "WebhookDestination")).toEqual([]);
    expect(errorsOf(fixture)).toEqual([
      expect.objectContaining({ path: fixture.path, message: expect.stringContaining(fixture.text) }),
    ]);
  });

  test("is told of a schedule that giveUpAfter cuts short", () => {
    const object = fixtures("valid").find(({ name }) => name === "minimal")?.object as { spec: object };
    const spec = { ...object.spec, retry: { schedule: ["2h", "3h"], giveUpAfter: "4h" } };
    const { problems, destination } = validateDestination({ ...object, spec });
    expect(problems).toEqual([expect.objectContaining({ path: "spec.retry.schedule", severity: "warning" })]);
    expect(destination).toBeDefined();
  });
});

describe("the WebhookDestination CRD", () => {
  test("bounds every string, list and map, and gives every list a list type", () => {
    const wrong: string[] = [];
    walk(crdSchema("WebhookDestination"), (node, path) => {
      if (node.type === "string" && node.maxLength === undefined) wrong.push(path);
      if (node.type === "array" && node.maxItems === undefined) wrong.push(path);
      if (node.type === "array" && node["x-kubernetes-list-type"] === undefined) wrong.push(path);
      if (node.additionalProperties && node.maxProperties === undefined) wrong.push(path);
      if (node.default !== undefined && (path.includes("[]") || typeof node.default === "object")) wrong.push(path);
    });
    expect(wrong).toEqual([]);
  });

  test("has a fixture for each of its rules", () => {
    const rules: CelRule[] = [];
    walk(crdSchema("WebhookDestination"), (node) => rules.push(...(node["x-kubernetes-validations"] ?? [])));
    const covered = fixtures("invalid").map(({ text }) => text);
    const missing = rules.filter((rule) => !covered.some((text) => rule.message?.includes(text)));
    expect(rules.length).toBeGreaterThan(15);
    expect(missing.map(({ message }) => message)).toEqual([]);
  });
});

describe("resolveDestinationSpec", () => {
  test("takes the name for the id, and leaves open what a route may fill", () => {
    expect(resolveDestinationSpec({ url: "https://acme.example.com/" }, "acme-eu")).toEqual({
      instance: "default",
      id: "acme-eu",
      url: "https://acme.example.com/",
      allowInsecureHTTP: false,
      headersFrom: [],
      disableAfter: { consecutiveFailures: 50, failingFor: "72h" },
      suspend: false,
    });
  });

  test("fills in what belongs to what is written", () => {
    const spec = resolveDestinationSpec(
      {
        id: "A-17",
        serviceRef: { name: "acme", port: 80 },
        signing: { scheme: "Timestamped", secretRef: { name: "s", key: "k" } },
        rateLimit: { requests: 5 },
        retry: { giveUpAfter: "24h" },
        disableAfter: { consecutiveFailures: 3 },
      },
      "acme-eu",
    );
    expect(spec).toMatchObject({
      id: "A-17",
      serviceRef: { path: "/", scheme: "http" },
      signing: { header: "X-Signature" },
      rateLimit: { per: "1s", burst: 5 },
      retry: { giveUpAfter: "24h", maxAge: "720h", jitter: 0.1 },
      disableAfter: { consecutiveFailures: 3, failingFor: "72h" },
    });
  });
});
