import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseAllDocuments } from "yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster.ts";
import { kubectl } from "../../support/operator/kubectl.ts";
import { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes, settled } from "../../support/operator/polling.ts";
import { HOST, SIGNED } from "../../support/operator/tenant.ts";

const ROOT = join(import.meta.dirname, "../../..");
const QUIET_MS = 10_000;
const cluster = sharedCluster();
let release: OperatorRelease;

beforeAll(async () => {
  // The examples name no instance, so theirs is `default`.
  release = await OperatorRelease.install(cluster, { instance: "default" });
});
afterAll(() => release?.stop());

/** All manifests; a `kustomization.yaml` only says how to put some of them together. */
const examples = readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".yaml") && !name.endsWith("kustomization.yaml"))
  .map((name) => join(ROOT, "examples", name));
/** Namespaces that the examples are in. */
const NAMESPACES = [...new Set(examples.flatMap(namespacesIn))];

// First, as what the examples leave behind runs out in its own time.
describe("a release whose routes do not change", () => {
  test("writes nothing but Leases", async () => {
    const shop = await release.tenant();
    await shop.secret("in", { key: "one" });
    for (const name of ["one", "two", "three"]) await shop.route(name, SIGNED);
    await shop.route("refused", { exposure: { host: "nobody.example.com", path: "/" } });
    await shop.route("lacking", { ...SIGNED, secretRefs: [{ name: "absent", key: "key" }] });
    await becomes(() => shop.condition("three"), "True/Reconciled");
    await becomes(() => shop.condition("refused", "Accepted"), "False/HostNotAllowed");
    await becomes(() => shop.condition("lacking", "SecretsResolved"), "False/SecretNotFound");
    const before = await settled(() => versions(shop.namespace));
    const writes = await writesSoFar();
    const since = performance.now();
    await sleep(QUIET_MS);
    expect(await versions(shop.namespace)).toEqual(before);
    const made = (await writesSoFar()) - writes;
    // A busy machine sleeps longer.
    const leases = 2 * Math.ceil((performance.now() - since) / 2_000) + 2;
    expect(made).toBeLessThanOrEqual(leases);
    expect((await shop.get("one"))["spec"].exposure.host).toBe(HOST);
  });
});

describe("every example", () => {
  beforeAll(async () => {
    for (const namespace of NAMESPACES) {
      await cluster.admin.create("/api/v1/namespaces", { metadata: { name: namespace } });
      await becomes(
        async () =>
          (await cluster.admin.request("GET", `/api/v1/namespaces/${namespace}/serviceaccounts/default`)).status,
        200,
      );
    }
  });
  afterAll(async () => {
    for (const namespace of NAMESPACES) await cluster.admin.delete(`/api/v1/namespaces/${namespace}`);
  });

  test("differs in nothing from what is live once it was applied and is published", async () => {
    const files = examples.flatMap((file) => ["--filename", file]);
    expect(await kubectl(cluster, ["apply", ...files])).toMatchObject({ code: 0 });
    await becomes(unpublished, []);
    const { code, stdout, stderr } = await kubectl(cluster, ["diff", ...files]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(examples.map((file) => relative(ROOT, file))).toContain("examples/quickstart/github.yaml");
  });

  test("can be applied on the server by another manager without a conflict with Davit, and then differs in nothing there", async () => {
    const files = examples.flatMap((file) => ["--filename", file]);
    const apply = await kubectl(cluster, ["apply", "--server-side", "--field-manager", "gitops", ...files]);
    // kubectl's own client-side manager is no conflict, as it says the same.
    expect(apply).toMatchObject({ code: 0 });
    const { code, stdout } = await kubectl(cluster, ["diff", "--server-side", "--field-manager", "gitops", ...files]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });
});

interface Named {
  readonly metadata: { readonly namespace?: string };
}

function namespacesIn(file: string): string[] {
  const objects = parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS() as Named);
  return objects.flatMap(({ metadata }) => metadata.namespace ?? []);
}

/** Routes of the examples that no gateway serves. */
async function unpublished(): Promise<string[]> {
  const lists = NAMESPACES.map((namespace) =>
    cluster.admin.list(`/apis/davit.dev/v1alpha1/namespaces/${namespace}/webhookroutes`),
  );
  const routes = (await Promise.all(lists)).flat();
  return routes
    .filter(
      ({ status }) =>
        !(status?.conditions ?? []).some(
          (one: { type: string; status: string }) => one.type === "Programmed" && one.status === "True",
        ),
    )
    .map(({ metadata }) => metadata.name);
}

/** Versions of everything that Davit writes for a namespace. */
async function versions(namespace: string): Promise<Record<string, string>> {
  const paths = [
    ...["secrets", "serviceaccounts"].map((kind) => `/api/v1/namespaces/${namespace}/${kind}`),
    `/api/v1/namespaces/${release.routesNamespace}/secrets`,
    `/apis/apps/v1/namespaces/${namespace}/deployments`,
    `/apis/davit.dev/v1alpha1/namespaces/${namespace}/webhookroutes`,
    `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
  ];
  const objects = (await Promise.all(paths.map((path) => cluster.admin.list(path)))).flat();
  return Object.fromEntries(
    objects.map(({ metadata }) => [metadata.uid ?? metadata.name, metadata.resourceVersion ?? ""]),
  );
}

/** Calls of the controllers and gateways that change something. */
async function writesSoFar(): Promise<number> {
  const counts = await Promise.all(
    ["controller", "gateway"].flatMap((role) =>
      ["POST", "PUT", "PATCH", "DELETE"].map((method) =>
        release.metric(role, "rest_client_requests_total", `method="${method}"`),
      ),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
