import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  COMPONENT_LABEL,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  SERVED_SEQ_ANNOTATION,
  servingLeaseName,
} from "../../../src/api/names.ts";
import { sharedCluster } from "../../support/cluster.ts";
import { kubectl } from "../../support/operator/kubectl.ts";
import { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes } from "../../support/operator/polling.ts";
import { HOST, type Tenant } from "../../support/operator/tenant.ts";

const cluster = sharedCluster();
const SILENT = new URL("../../support/operator/silent-gateway.ts", import.meta.url).pathname;
/** Works in the namespaces that it is given, and its workers share one Redis user. */
let narrow: OperatorRelease;
/** Works everywhere. */
let wide: OperatorRelease;
let enabled: Tenant;

beforeAll(async () => {
  const namespace = await cluster.namespace("shop");
  [narrow, wide] = await Promise.all([
    OperatorRelease.install(cluster, { values: { rbac: { scope: "Namespaces", namespaces: [namespace] } } }),
    OperatorRelease.install(cluster, { images: { "silent:1": SILENT } }),
  ]);
  enabled = await narrow.adopt(namespace);
});
afterAll(() => Promise.all([narrow?.stop(), wide?.stop()]));

describe.concurrent("rights in some namespaces", () => {
  test("are enough for the routes there", async () => {
    await enabled.route("orders");
    await becomes(() => enabled.condition("orders"), "True/Reconciled");
    const { id } = await enabled.post("orders");
    await becomes(() => enabled.deliveredTo("orders"), [id]);
  });

  test("leave a route elsewhere not accepted, with the command that enables its namespace", async () => {
    const other = await narrow.tenant();
    await other.route("orders");
    await other.destination("acme");
    await becomes(() => other.condition("orders", "Accepted"), "False/NamespaceNotEnabled");
    await becomes(() => other.destinationCondition("acme"), "False/NamespaceNotEnabled");
    const [, command = ""] = /run: kubectl (.*)$/.exec(await other.message("orders", "Accepted")) ?? [];
    expect(await kubectl(cluster, command.split(" "))).toMatchObject({ code: 0 });
    await becomes(() => other.condition("orders"), "True/Reconciled");
    await becomes(() => other.destinationCondition("acme"), "True/Reconciled");
  });
});

describe.concurrent("two releases side by side", () => {
  test("are blind to each other's routes, even of one host and path in one namespace", async () => {
    // The same namespace; whoever's kubelet starts the Pods there.
    const other = wide.bareTenant(enabled.namespace);
    await other.redisSecret();
    const path = `/${enabled.namespace}/place`;
    const exposure = { host: HOST, path };
    await other.route("wide", { exposure });
    await enabled.route("narrow", { exposure });
    await becomes(() => other.condition("wide"), "True/Reconciled");
    await becomes(() => enabled.condition("narrow"), "True/Reconciled");
    // Each gateway gives the events of the place to its own release's route.
    const [first, second] = [await other.post("", undefined, path), await enabled.post("", undefined, path)];
    await becomes(() => other.deliveredTo("wide"), [first.id]);
    await becomes(() => enabled.deliveredTo("narrow"), [second.id]);
    // What becomes of one is nothing to the other, down to its workers.
    await other.deleteRoute("wide");
    await becomes(async () => (await other.post("", undefined, path)).status, 503);
    await becomes(async () => (await cluster.admin.request("GET", other.workers())).status, 404);
    const { id, status } = await enabled.post("", undefined, path);
    expect(status).toBe(202);
    await becomes(() => enabled.deliveredTo("narrow"), [second.id, id]);
    expect(await enabled.condition("narrow")).toBe("True/Reconciled");
  });
});

describe.concurrent("a gateway that is ready and says nothing", () => {
  test("is named, waited for, and left out in the end", async () => {
    const shop = wide.bareTenant(await cluster.namespace("shop"));
    const name = "gateway-silent";
    const labels = { "app.kubernetes.io/component": "gateway", "app.kubernetes.io/instance": wide.name };
    await cluster.admin.create(`/api/v1/namespaces/${wide.namespace}/pods`, {
      metadata: { name, labels },
      spec: { containers: [{ name: "silent", image: "silent:1" }] },
    });
    const pod = `/api/v1/namespaces/${wide.namespace}/pods/${name}`;
    const isReady = async () =>
      ((await cluster.admin.get(pod))["status"].conditions ?? []).some(
        (one: { type: string; status: string }) => one.type === "Ready" && one.status === "True",
      );
    await becomes(isReady, true);
    const lease = servingLeaseName(name);
    await cluster.admin.create(`/apis/coordination.k8s.io/v1/namespaces/${wide.namespace}/leases`, {
      metadata: {
        name: lease,
        labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: wide.instance, [COMPONENT_LABEL]: "serving" },
        annotations: { [SERVED_SEQ_ANNOTATION]: "1" },
      },
      spec: { holderIdentity: name, renewTime: new Date().toISOString().replace("Z", "000Z") },
    });
    await shop.route("orders");
    await becomes(() => shop.condition("orders", "Programmed"), "False/GatewayNotReached");
    expect(await shop.message("orders", "Programmed")).toContain(name);
    await becomes(() => shop.condition("orders", "Programmed"), "True/Reconciled");
    expect(await shop.message("orders", "Programmed")).toContain(`left out: gateway Pod ${name} silent`);
  });
});
