import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { VARIANTS } from "../chart/variants.ts";
import { type ChartRoles, chartRoles, pathOf, renderChart } from "../support/chart.ts";
import { sharedCluster } from "../support/cluster.ts";
import type { KubeObject } from "../support/control-plane/client.ts";
import { rightsOf } from "../support/rights.ts";

const cluster = sharedCluster();
const RIGHTS = join(import.meta.dirname, "../chart/golden/rights");
const cleanUps: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});

const uniqueRelease = () => `r-${randomUUID().slice(0, 8)}`;

async function roles(values: object, namespace: string): Promise<ChartRoles> {
  const made = await chartRoles(cluster, { release: uniqueRelease(), namespace, values });
  cleanUps.push(() => made.remove());
  return made;
}

describe("what the chart lets its roles do", () => {
  it.each(["cluster", "namespaces"])("is what it was, with scope %s", async (scope) => {
    const [release, enabled, other] = await Promise.all(
      ["release", "enabled", "other"].map((name) => cluster.namespace(name)),
    );
    const isCluster = scope === "cluster";
    const rbac = isCluster ? { scope: "Cluster" } : { scope: "Namespaces", namespaces: [enabled] };
    const made = await roles({ rbac, console: { enabled: true } }, release as string);
    const { routesNamespace: routes, destinationsNamespace: destinations } = made;
    const namespaces = { release, routes, destinations, enabled, ...(isCluster ? {} : { other }) };
    const sections: string[] = [];
    for (const role of ["controller", "gateway", "console"] as const) {
      for (const [name, namespace] of Object.entries(namespaces)) {
        const rights = await rightsOf(cluster, made[role], namespace as string);
        sections.push(`# ${role}, in the namespace: ${name}`, ...rights, "");
      }
    }
    await expect(sections.join("\n")).toMatchFileSnapshot(join(RIGHTS, `${scope}.txt`));
  });

  it("holds no wildcard, and no right to escalate, bind or impersonate", async () => {
    for (const values of Object.values(VARIANTS)) {
      const rules = (await renderChart({ values })).flatMap(
        (object) => (object["rules"] ?? []) as Record<string, string[]>[],
      );
      const words = rules.flatMap((rule) => Object.values(rule).flat());
      for (const forbidden of ["*", "escalate", "bind", "impersonate"]) expect(words).not.toContain(forbidden);
    }
  });

  it("reaches the release's namespace when workers run there", async () => {
    const [release, enabled] = [await cluster.namespace("release"), await cluster.namespace("enabled")];
    const rbac = { scope: "Namespaces", namespaces: [enabled] };
    const made = await roles({ rbac, redis: { users: "Shared" } }, release);
    const controller = await cluster.clientFor(made.controller);
    const place = `/apis/apps/v1/namespaces/${release}/deployments`;
    expect((await controller.request("GET", place)).status).toBe(200);
  });
});

describe("the controller's rights", () => {
  const role = (namespace: string, rules: object[]) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "worker", namespace },
    rules,
  });
  const binding = (namespace: string) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "worker", namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "worker" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace }],
  });
  const reading = { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"], resourceNames: ["a"] };

  it.each(["Cluster", "Namespaces"])("suffice to give a worker its config Secrets, with scope %s", async (scope) => {
    const [release, shop] = [await cluster.namespace("release"), await cluster.namespace("shop")];
    const made = await roles({ rbac: { scope, ...(scope === "Cluster" ? {} : { namespaces: [shop] }) } }, release);
    const controller = await cluster.clientFor(made.controller);
    const path = pathOf(role(shop, []));
    await controller.apply(path, role(shop, [reading]));
    await controller.apply(pathOf(binding(shop)), binding(shop));
    const worker = await cluster.clientFor({ namespace: shop, serviceAccount: "default" });
    const statusOf = async (name: string) =>
      (await worker.request("GET", `/api/v1/namespaces/${shop}/secrets/${name}`)).status;
    // Rights take effect a little later; there is no such Secret.
    await expect.poll(() => statusOf("a")).toBe(404);
    expect(await statusOf("b")).toBe(403);
  });

  it("do not suffice to give away what it does not have", async () => {
    const shop = await cluster.namespace("shop");
    const made = await roles({}, await cluster.namespace("release"));
    const controller = await cluster.clientFor(made.controller);
    for (const [resource, verb] of [
      ["pods", "create"],
      ["secrets", "escalate"],
      ["serviceaccounts", "impersonate"],
    ]) {
      const more = { apiGroups: [""], resources: [resource], verbs: [verb] };
      const attempt = controller.apply(pathOf(role(shop, [])), role(shop, [more]));
      await expect(attempt).rejects.toMatchObject({ status: 403 });
    }
  });
});

/** A Pod as its controller would make it from a template. */
const podOf = (workload: KubeObject, namespace: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `${workload.metadata.name}-0`, namespace, labels: workload["spec"].template.metadata.labels },
  spec: {
    ...workload["spec"].template.spec,
    volumes: [
      ...(workload["spec"].template.spec.volumes ?? []),
      ...(workload["spec"].volumeClaimTemplates ?? []).map(({ metadata }: KubeObject) => ({
        name: metadata.name,
        persistentVolumeClaim: { claimName: metadata.name },
      })),
    ],
  },
});

describe.each(Object.keys(VARIANTS))("the API server, asked about the chart with the values %s", (name) => {
  const values = { ...VARIANTS[name], rbac: { scope: "Cluster" } };
  const strict = "?dryRun=All&fieldValidation=Strict&fieldManager=test";

  it("knows every field and accepts every object", async () => {
    const [release, namespace] = [uniqueRelease(), await cluster.namespace("release")];
    const made = await roles(values, namespace);
    const places = new Map([
      [`${release}-routes`, made.routesNamespace],
      [`${release}-destinations`, made.destinationsNamespace],
    ]);
    for (const object of await renderChart({ release, namespace, values })) {
      // Its namespace is not there in a dry run; another one stands for it.
      const { namespace: place = "" } = object.metadata;
      if (places.has(place)) object.metadata.namespace = places.get(place) as string;
      const path = pathOf(object);
      const { status, body } = await cluster.admin.request(
        "POST",
        path.slice(0, path.lastIndexOf("/")) + strict,
        object,
      );
      // The CRDs are there already.
      expect(
        object.kind === "CustomResourceDefinition" ? [201, 409] : [201],
        `${path}: ${JSON.stringify(body)}`,
      ).toContain(status);
    }
  });

  it("lets every Pod into a namespace of the restricted Pod Security Standard", async () => {
    const namespace = await cluster.namespace("restricted", { "pod-security.kubernetes.io/enforce": "restricted" });
    const release = uniqueRelease();
    const objects = await renderChart({ release, namespace, values });
    for (const account of objects.filter(({ kind }) => kind === "ServiceAccount")) {
      await cluster.admin.apply(pathOf(account), account);
    }
    const pods = objects
      .filter((object) => object["spec"]?.template !== undefined)
      .map((each) => podOf(each, namespace));
    expect(pods.length).toBeGreaterThanOrEqual(2);
    for (const pod of pods) {
      // A class that only this test knows.
      delete pod["spec"].priorityClassName;
      await cluster.admin.create(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod);
    }
  });
});
