import { describe, expect, type TestContext, test } from "vitest";
import { entrySecretName, workerConfigName, workerName } from "../../../src/api/names.ts";
import type { Cluster } from "../../support/control-plane/access.ts";
import { ApiProxy, type Asked } from "../../support/operator/api-proxy.ts";
import { type OperatorOptions, OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes, measured, settled } from "../../support/operator/polling.ts";
import { SIGNED, type Tenant } from "../../support/operator/tenant.ts";

const isWrite = ({ method, path }: Asked) => ["PUT", "PATCH"].includes(method) && !path.includes("/leases/");
const DEDICATED = { dedicated: { replicas: 0, concurrency: 10 } };

/** What becomes of routes when the controller that leads does not go on. */
export function leadershipTests(cluster: Cluster): void {
  async function install({ onTestFinished }: TestContext, options: OperatorOptions = {}): Promise<OperatorRelease> {
    const release = await OperatorRelease.install(cluster, { ...options, values: { controller: { replicas: 2 } } });
    onTestFinished(() => release.stop());
    return release;
  }

  /** Everything that Davit has written for a route with workers of its own, without what others write into it. */
  async function writtenFor({ release, namespace }: Tenant, name: string): Promise<Record<string, unknown>> {
    const worker = workerName(release.instance, { namespace, route: name });
    const paths = [
      `/api/v1/namespaces/${release.routesNamespace}/secrets/${entrySecretName(release.instance, namespace, name)}`,
      `/apis/apps/v1/namespaces/${namespace}/deployments/${worker}`,
      `/api/v1/namespaces/${namespace}/serviceaccounts/${worker}`,
      `/api/v1/namespaces/${namespace}/secrets/${workerConfigName(worker, 0)}`,
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/${worker}`,
      `/apis/davit.dev/v1alpha1/namespaces/${namespace}/webhookroutes/${name}`,
    ];
    const pairs = paths.map(async (path) => {
      const { kind, metadata, spec, data, rules, status } = await cluster.admin.get(path);
      const { uid, generation, labels } = metadata;
      const own = kind === "WebhookRoute" ? { status } : {};
      return [path, { uid, generation, labels, spec, data, rules, ...own }] as const;
    });
    return Object.fromEntries(await Promise.all(pairs));
  }

  describe.concurrent("a controller that leads", () => {
    test("is replaced when it is killed, and nothing is made anew", async (context) => {
      const release = await install(context);
      const shop = release.bareTenant(await cluster.namespace("shop"));
      await shop.route("orders", { worker: DEDICATED });
      await becomes(() => shop.condition("orders", "Programmed"), "True/Reconciled");
      await becomes(() => shop.condition("orders", "Reconciling"), expect.stringMatching(/./));
      const before = await settled(() => writtenFor(shop, "orders"));
      const leader = await release.leader();
      expect(leader).toBeDefined();
      const isReplaced = async () => ((await release.leader())?.name ?? leader?.name) !== leader?.name;
      await measured("takeover after a kill", async () => {
        leader?.child.kill("SIGKILL");
        await becomes(isReplaced, true);
      });
      await shop.route("refunds", { worker: DEDICATED });
      await becomes(() => shop.condition("refunds", "Programmed"), "True/Reconciled");
      expect(await writtenFor(shop, "orders")).toEqual(before);
      const deployments = await cluster.admin.list(`/apis/apps/v1/namespaces/${shop.namespace}/deployments`);
      const wanted = ["orders", "refunds"].map((route) =>
        workerName(release.instance, { namespace: shop.namespace, route }),
      );
      expect(deployments.map(({ metadata }) => metadata.name).toSorted()).toEqual(wanted.toSorted());
    });

    test("overwrites nothing newer when it was stopped past its lease in the middle of its writes and goes on", async (context) => {
      const proxies = new Map<string, ApiProxy>();
      const spare = await Promise.all([0, 1].map(() => new ApiProxy(cluster).start()));
      context.onTestFinished(() => spare.forEach((proxy) => proxy.stop()));
      const release = await install(context, {
        serverFor: ({ pod, container }) => {
          if (container.name !== "controller") return undefined;
          const proxy = proxies.get(pod.metadata.name) ?? spare[proxies.size];
          if (proxy !== undefined) proxies.set(pod.metadata.name, proxy);
          return proxy?.url;
        },
      });
      const shop = release.bareTenant(await cluster.namespace("shop"));
      await shop.secret("in", { key: "one" });
      await shop.route("orders", { ...SIGNED, worker: DEDICATED });
      await becomes(() => shop.condition("orders", "Programmed"), "True/Reconciled");
      const leader = await release.leader();
      const proxy = proxies.get(leader?.name ?? "");

      // Its writes are on their way: a state, a child and a status.
      await becomes(async () => (await cluster.admin.request("GET", shop.workers("orders"))).status, 200);
      proxy?.hold(isWrite);
      await cluster.admin.patch(shop.workers("orders"), { spec: { replicas: 7 } });
      await shop.secret("in", { key: "two" });
      const written = () => new Set(proxy?.held.map(({ path }) => path.split("?")[0]?.split("/").at(-2)));
      await becomes(written, new Set(["secrets", "deployments"]));
      leader?.child.kill("SIGSTOP");
      await becomes(async () => ((await release.leader())?.name ?? leader?.name) !== leader?.name, true);
      await becomes(() => shop.keys("orders"), ["current two", "previous one"]);
      await shop.secret("in", { key: "three" });
      await shop.patchRoute("orders", { spec: { worker: { dedicated: { replicas: 3 } } } });
      const newest = ["current three", "previous two", "previous one"];
      await becomes(() => shop.keys("orders"), newest);
      await becomes(async () => (await cluster.admin.get(shop.workers("orders")))["spec"].replicas, 3);
      await becomes(async () => (await shop.status("orders")).rotation?.keys?.length, 3);
      const before = await settled(() => writtenFor(shop, "orders"));

      const inFlight = proxy?.held.length ?? 0;
      proxy?.release();
      await becomes(
        () => proxy?.late.map(({ status }) => status),
        Array.from({ length: inFlight }, () => 409),
      );
      leader?.child.kill("SIGCONT");
      await becomes(() => leader?.said("the term as leader was lost"), true);
      expect(await writtenFor(shop, "orders")).toEqual(before);
      expect(await shop.keys("orders")).toEqual(newest);
    });
  });
}
