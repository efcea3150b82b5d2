import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { validateCleanupPolicy, validateCleanupRun } from "./cleanup-policy-validation.ts";
import { type CelRule, crdSchema, type Kind, type StructuralSchema } from "./crd.ts";
import type { Problem } from "./problem.ts";
import { checkStructure } from "./validation.ts";

const FIXTURES = new URL("../../test/crds/", import.meta.url);

const KINDS = {
  CleanupPolicy: { folder: "cleanup-policy", validate: validateCleanupPolicy },
  CleanupRun: { folder: "cleanup-run", validate: validateCleanupRun },
} as const;

function fixtures(kind: keyof typeof KINDS, verdict: string) {
  const folder = new URL(`${KINDS[kind].folder}/${verdict}/`, FIXTURES);
  const names = readdirSync(folder).map((file) => file.replace(/\.yaml$/, ""));
  const read = (name: string) => readFileSync(new URL(`${name}.yaml`, folder), "utf8");
  return names
    .filter((name) => !name.endsWith(".previous"))
    .map((name) => {
      const [, path = "", text = ""] = /^# expect: (.+?): (.+)$/m.exec(read(name)) ?? [];
      const previous: unknown = names.includes(`${name}.previous`) ? parse(read(`${name}.previous`)) : undefined;
      return { kind, name, object: parse(read(name)) as unknown, previous, path, text };
    });
}

function errorsOf({ kind, object, previous }: ReturnType<typeof fixtures>[number]): Problem[] {
  return KINDS[kind].validate(object, { previous }).problems.filter(({ severity }) => severity === "error");
}

const BOTH = ["CleanupPolicy", "CleanupRun"] as const;

describe("CleanupPolicies and CleanupRuns", () => {
  test.each(BOTH.flatMap((kind) => fixtures(kind, "valid")))("$kind $name is accepted without an error", (fixture) => {
    expect(errorsOf(fixture)).toEqual([]);
  });

  test.each(BOTH.flatMap((kind) => fixtures(kind, "invalid")))(
    "$kind $name is refused for one rule alone: $path: $text",
    (fixture) => {
      const errors = errorsOf(fixture);
      const message = expect.stringContaining(fixture.text) as string;
      expect(errors).toEqual([expect.objectContaining({ path: fixture.path, message })]);
      expect(["schema", "cel"]).toContain(errors[0]?.source);
    },
  );

  test.each(fixtures("CleanupPolicy", "refused"))("$name is refused by Davit alone: $path: $text", (fixture) => {
    expect(checkStructure(fixture.object, undefined, fixture.kind)).toEqual([]);
    const message = expect.stringContaining(fixture.text) as string;
    expect(errorsOf(fixture)).toEqual([expect.objectContaining({ path: fixture.path, message })]);
  });
});

const policy = (spec: object) => ({
  apiVersion: "davit.dev/v1alpha1",
  kind: "CleanupPolicy",
  metadata: { name: "labels" },
  spec: { s3: { bucket: "warehouse-data" }, prefixTemplate: "warehouses/{scope}/", ...spec },
});

describe("validateCleanupPolicy", () => {
  test.each([
    [{ defaultMode: "Enforce", safety: { requireDryRun: false } }, "spec.safety.requireDryRun"],
    [
      { scopes: [{ name: "a", mode: "Enforce" }], exclusions: { objectLock: false, legalHold: false } },
      "spec.exclusions",
    ],
    [{ s3: { bucket: "warehouse-data", endpoint: "http://store:9000" } }, "spec.s3.endpoint"],
    [{ exclusions: { protectedPrefixes: ["/a"] } }, "spec.exclusions.protectedPrefixes[0]"],
    [
      { exclusions: { manifests: [{ prefix: "warehouses/{scope}/manifests/", keysFrom: "lines" }] } },
      "spec.exclusions.manifests[0].prefix",
    ],
    [
      { exclusions: { manifests: [{ prefix: "warehouses/wh-17/manifests/", keysFrom: "lines" }] } },
      "spec.exclusions.manifests[0].prefix",
    ],
    [{ maxAttempts: 294 }, "spec.maxAttempts"],
  ])("warns of %j", (spec, path) => {
    const { problems, policy: accepted } = validateCleanupPolicy(policy(spec));
    expect(problems).toEqual([expect.objectContaining({ path, severity: "warning" })]);
    expect(accepted).toBeDefined();
  });

  test.each([
    { maxAttempts: 293 },
    {
      exclusions: {
        manifests: [{ prefix: "warehouses/{scope}/manifests/", keysFrom: "lines" }],
        protectedPrefixes: ["warehouses/{scope}/manifests/"],
      },
    },
    { exclusions: { manifests: [{ prefix: "manifests/{scope}/", keysFrom: "lines" }] } },
  ])("has nothing to say of %j", (spec) => {
    expect(validateCleanupPolicy(policy(spec)).problems).toEqual([]);
  });

  test("fills in what is not written", () => {
    expect(validateCleanupPolicy(policy({})).spec).toEqual({
      instance: "default",
      s3: { region: "us-east-1", bucket: "warehouse-data", forcePathStyle: false, checksum: "Auto" },
      prefixTemplate: "warehouses/{scope}/",
      scopes: [],
      defaultMode: "RecordOnly",
      exclusions: {
        tags: [],
        objectLock: true,
        legalHold: true,
        manifests: [],
        protectedPrefixes: [],
        maxAge: "60s",
      },
      batchSize: 200,
      maxAttempts: 293,
      runDeadline: "24h",
      safety: { maxDeletesPerRun: 100_000, maxDeletePercent: 50, minAge: "24h", requireDryRun: true },
      history: { successfulRunsLimit: 20, failedRunsLimit: 50, minAge: "336h" },
      suspend: false,
    });
    const s3 = { bucket: "warehouse-data", endpoint: "https://store" };
    const scheduled = { s3, schedule: "@daily", expireAfter: "48h", defaultMode: "DryRun", scopes: [{ name: "a" }] };
    expect(validateCleanupPolicy(policy(scheduled)).spec).toMatchObject({
      s3: { forcePathStyle: true },
      scopes: [{ name: "a", mode: "DryRun" }],
      timeZone: "UTC",
      startingDeadlineSeconds: 3_600,
    });
  });
});

function walk(schema: StructuralSchema, visit: (node: StructuralSchema, path: string) => void, path = ""): void {
  visit(schema, path);
  for (const [key, child] of Object.entries(schema.properties ?? {})) walk(child, visit, `${path}.${key}`);
  if (schema.items) walk(schema.items, visit, `${path}[]`);
  if (schema.additionalProperties) walk(schema.additionalProperties, visit, `${path}.*`);
}

describe.each<Kind>([...BOTH])("the CRD of %s", (kind) => {
  test("bounds every string, list and map, and gives every list a list type", () => {
    const wrong: string[] = [];
    walk(crdSchema(kind), (node, path) => {
      if (node.type === "string" && node.maxLength === undefined) wrong.push(path);
      if (node.type === "array" && node.maxItems === undefined) wrong.push(path);
      if (node.type === "array" && node["x-kubernetes-list-type"] === undefined) wrong.push(path);
      if (node.additionalProperties && node.maxProperties === undefined) wrong.push(path);
      if (node.default !== undefined && (path.includes("[]") || typeof node.default === "object")) wrong.push(path);
    });
    expect(wrong).toEqual([]);
  });
});

test.each(BOTH)("the spec of a %s has a fixture for each of its rules", (kind) => {
  const rules: CelRule[] = [];
  const spec = crdSchema(kind).properties?.["spec"] ?? {};
  walk(spec, (node) => rules.push(...(node["x-kubernetes-validations"] ?? [])));
  const covered = fixtures(kind, "invalid").map(({ text }) => text);
  const missing = rules.filter((rule) => !covered.some((text) => rule.message?.includes(text)));
  expect(rules.length).toBeGreaterThan(8);
  expect(missing.map(({ message }) => message)).toEqual([]);
});
