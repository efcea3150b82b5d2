import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { provisionedRedisSecretName } from "../../../src/api/names.ts";
import { sharedCluster } from "../../support/cluster.ts";
import { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes } from "../../support/operator/polling.ts";

// `Provided` is what every other file of this folder uses.
const cluster = sharedCluster();
let provisioned: OperatorRelease;
let shared: OperatorRelease;

beforeAll(async () => {
  [provisioned, shared] = (await Promise.all(
    ["Provisioned", "Shared"].map((users) =>
      OperatorRelease.install(cluster, { bundledRedis: true, values: { redis: { users } } }),
    ),
  )) as [OperatorRelease, OperatorRelease];
});
afterAll(() => Promise.all([provisioned?.stop(), shared?.stop()]));

describe.concurrent("Redis users", () => {
  test("(Provisioned) are made by the controller, one for each namespace, and events are delivered", async () => {
    const shop = await provisioned.tenant();
    await shop.route("orders");
    await becomes(() => shop.condition("orders"), "True/Reconciled");
    const { id } = await shop.post("orders");
    await becomes(() => shop.deliveredTo("orders"), [id]);
    const name = provisionedRedisSecretName(provisioned.instance);
    const { data } = await cluster.admin.get<{ data: { url: string } }>(
      `/api/v1/namespaces/${shop.namespace}/secrets/${name}`,
    );
    const url = new URL(Buffer.from(data.url, "base64").toString());
    expect(url.username).toBe(`davit_${provisioned.instance}_worker_${shop.namespace}`);
  });

  test("(Shared) keep workers in the release's namespace, refuse images of tenants, and events are delivered", async () => {
    const shop = await shared.tenant();
    await shop.route("orders");
    await becomes(() => shop.condition("orders"), "True/Reconciled");
    const { id } = await shop.post("orders");
    await becomes(() => shop.deliveredTo("orders"), [id]);
    expect(await cluster.admin.list(`/apis/apps/v1/namespaces/${shop.namespace}/deployments`)).toEqual([]);
    const worker = { dedicated: { image: "elsewhere.example.com/handler:1" } };
    await shop.route("handler", { destinations: [{ name: "own", handler: {} }], worker });
    await becomes(() => shop.condition("handler", "Accepted"), "False/HandlerNotAllowed");
  });
});
