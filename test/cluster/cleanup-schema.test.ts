import { beforeAll, describe, expect, test } from "vitest";
import { validateCleanupPolicy } from "../../src/api/cleanup-policy-validation.ts";
import { snapshotOf } from "../../src/api/cleanup-snapshot.ts";
import { crdSchema } from "../../src/api/crd.ts";
import { formatProblem } from "../../src/api/problem.ts";
import { checkStructure } from "../../src/api/validation.ts";
import { sharedCluster } from "../support/cluster.ts";
import type { Answer, KubeObject } from "../support/control-plane/client.ts";
import { type CrdFixture, crdFixtures } from "../support/crd-fixtures.ts";
import { mutationsOf, schemaPaths } from "../support/crd-mutations.ts";

// CleanupPolicies and CleanupRuns are checked alike by the API server and by `davit validate` (docs/decisions/0005).
const cluster = sharedCluster();
let namespace: string;
beforeAll(async () => {
  namespace = await cluster.namespace();
});

const KINDS = [
  { folder: "cleanup-policy", plural: "cleanuppolicies", kind: "CleanupPolicy" },
  { folder: "cleanup-run", plural: "cleanupruns", kind: "CleanupRun" },
] as const;

/** As `kubectl apply` does by default: unknown fields are refused. */
const STRICT = "dryRun=All&fieldValidation=Strict";
const here = (object: KubeObject) => ({ ...object, metadata: { ...object.metadata, namespace } });
const pathOf = (plural: string) => `/apis/davit.dev/v1alpha1/namespaces/${namespace}/${plural}`;

/** What the server says to a fixture that is created, or replaces its predecessor. */
async function submit(plural: string, { object, previous }: CrdFixture): Promise<Answer<KubeObject>> {
  const path = pathOf(plural);
  if (previous === undefined) return cluster.admin.request("POST", `${path}?${STRICT}`, here(object));
  const { resourceVersion } = (await cluster.admin.create(path, here(previous))).metadata;
  const replaced = { ...here(object), metadata: { ...here(object).metadata, resourceVersion } };
  const answer = await cluster.admin.request("PUT", `${path}/${object.metadata.name}?${STRICT}`, replaced);
  await cluster.admin.delete(`${path}/${object.metadata.name}`);
  return answer;
}

describe.each(KINDS)("of $folder", ({ folder, plural }) => {
  const refused = folder === "cleanup-policy" ? crdFixtures(`${folder}/refused`) : [];

  test.each([...crdFixtures(`${folder}/valid`), ...refused])("$name is accepted by the server", async (fixture) => {
    const { status, body } = await submit(plural, fixture);
    expect([status, body["message"]]).toEqual([fixture.previous === undefined ? 201 : 200, undefined]);
  });

  test.each(crdFixtures(`${folder}/invalid`))("$name is refused by the server as well", async (fixture) => {
    const { status, body } = await submit(plural, fixture);
    const field =
      fixture.path
        .split(".")
        .at(-1)
        ?.replace(/\[\d+\]$/, "") ?? "";
    expect([400, 422]).toContain(status);
    expect(JSON.stringify(body)).toContain(field);
  });
});

// kube-openapi looks at the format and passes over the type of an empty list. Davit refuses it, and rejects such a run.
const KNOWN = [".spec.cutoff: []", ".spec.receivedAt: []"];

describe.each(KINDS)("each limit of the schema of $folder, broken and just kept,", ({ folder, plural, kind }) => {
  const schema = crdSchema(kind);
  const seen = new Set<string>();
  const mutations = crdFixtures(`${folder}/valid`).flatMap(({ object }) => mutationsOf(schema, object, seen));

  test("is reached: the fixtures have every field there is", () => {
    expect(schemaPaths(schema).filter((path) => !seen.has(path))).toEqual([]);
    expect(mutations.length).toBeGreaterThan(100);
  });

  test("means the same to the server and to the offline check", async () => {
    const differences: string[] = [];
    const known: string[] = [];
    const queue = [...mutations];
    const work = async () => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const object = here(next.object as KubeObject);
        const { status, body } = await cluster.admin.request("POST", `${pathOf(plural)}?${STRICT}`, object);
        const problems = checkStructure(object, undefined, kind).map(formatProblem);
        if (status < 400 === (problems.length === 0)) continue;
        if (status === 201 && KNOWN.includes(next.name)) known.push(next.name);
        else differences.push(`${next.name}: ${status} ${body["message"]}; offline: ${problems.join("; ")}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));
    expect(differences).toEqual([]);
    expect(known.toSorted()).toEqual(kind === "CleanupRun" ? KNOWN : []);
  }, 300_000);
});

describe("the status of a CleanupRun", () => {
  const SNAPSHOT = {
    generation: 1,
    digest: "0123456789abcdef",
    s3: { region: "us-east-1", bucket: "bucket", forcePathStyle: false, checksum: "Auto" },
    prefix: "warehouses/wh-17/",
    mode: "DryRun",
    exclusions: { tags: [], objectLock: true, legalHold: true, manifests: [], protectedPrefixes: [], maxAge: "60s" },
    batchSize: 200,
    maxAttempts: 5,
    runDeadline: "24h",
    safety: { maxDeletesPerRun: 1_000, maxDeletePercent: 50 },
  };
  const path = () => pathOf("cleanupruns");

  async function runWith(name: string, status: object): Promise<void> {
    const fixture = crdFixtures("cleanup-run/valid").find((one) => one.name === "smallest");
    if (fixture === undefined) throw new Error("there is no fixture");
    await cluster.admin.create(path(), here({ ...fixture.object, metadata: { name } }));
    expect((await write(name, status)).status).toBe(200);
  }
  const write = (name: string, status: object) =>
    cluster.admin.request("PATCH", `${path()}/${name}/status`, { status }, "application/merge-patch+json");

  test("keeps its snapshot as it was written", async () => {
    await runWith("snapshot", { phase: "Pending", snapshot: SNAPSHOT });
    expect((await write("snapshot", { phase: "Running", attempts: 1 })).status).toBe(200);
    const more = await write("snapshot", { snapshot: { mode: "Enforce" } });
    expect([more.status, JSON.stringify(more.body)]).toEqual([422, expect.stringContaining("snapshot is immutable")]);
    expect((await write("snapshot", { snapshot: null })).status).toBe(422);
  });

  test("holds what is taken over from any policy, whatever its scope", async () => {
    const longest = "s".repeat(128);
    const long = (text: string) => text.padEnd(512, "/x");
    const spec = {
      s3: { bucket: "bucket" },
      prefixTemplate: `${"p/".repeat(251)}{scope}/`,
      exclusions: {
        manifests: [{ prefix: long("m/{scope}"), keysFrom: "lines" }],
        protectedPrefixes: [long("p/{scope}"), long(`p/${longest}`), "a/{scope}/", `a/${longest}/`],
      },
    };
    const policy = { apiVersion: "davit.dev/v1alpha1", kind: "CleanupPolicy", metadata: { name: "longest" }, spec };
    const created = await cluster.admin.request("POST", `${pathOf("cleanuppolicies")}?${STRICT}`, here(policy));
    expect(created.body["message"]).toBeUndefined();
    const resolved = validateCleanupPolicy(policy).spec;
    if (resolved === undefined) throw new Error("the policy is refused");
    const snapshot = snapshotOf(resolved, { scope: longest, mode: "Enforce", generation: 1 });
    await runWith("longest", { phase: "Pending", snapshot });
  });

  test("stays finished once it is", async () => {
    await runWith("finished", { phase: "Failed", reason: "AccessDenied" });
    const again = await write("finished", { phase: "Pending" });
    expect([again.status, JSON.stringify(again.body)]).toEqual([422, expect.stringContaining("stays as it is")]);
  });

  test("is found by scope, policy and phase", async () => {
    await runWith("found", { phase: "Running" });
    const query = "fieldSelector=spec.scope%3Dwh-17,spec.policyRef.name%3Dlabels,status.phase%3DRunning";
    const found = await cluster.admin.request("GET", `${path()}?${query}`);
    expect(JSON.stringify(found.body)).toContain('"name":"found"');
    const others = await cluster.admin.request("GET", `${path()}?fieldSelector=status.phase%3DSucceeded`);
    expect(others.body).toMatchObject({ items: [] });
  });
});
