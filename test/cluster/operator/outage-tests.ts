import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, type TestContext, test } from "vitest";
import type { Cluster } from "../../support/control-plane/access.ts";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { ApiProxy } from "../../support/operator/api-proxy.ts";
import { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes, measured } from "../../support/operator/polling.ts";
import { Senders } from "../../support/operator/senders.ts";
import { HOST, SIGNED } from "../../support/operator/tenant.ts";

const OUTAGE_MS = 60_000;
const RATE = 500;
/** A reflector takes 150 s of silence for a dead connection, as a server speaks at least once a minute. */
const HALF_OPEN_MS = 200_000;

/** What becomes of routes when the API server goes away, or a part of what it says. */
export function outageTests(cluster: Cluster): void {
  /** A plane that forgets old versions after seconds, and a release on it. */
  async function ownPlane({ onTestFinished }: TestContext): Promise<ControlPlane> {
    const plane = await startControlPlane({ crds: "davit", etcdCompactionInterval: "1s", watchCache: false });
    onTestFinished(() => plane.stop());
    return plane;
  }

  async function proxied(on: Cluster, { onTestFinished }: TestContext) {
    const proxy = await new ApiProxy(on).start();
    onTestFinished(() => proxy.stop());
    const release = await OperatorRelease.install(on, {
      serverFor: ({ container }) => (container.name === "controller" ? proxy.url : undefined),
    });
    onTestFinished(() => release.stop());
    return { release, proxy };
  }

  describe.concurrent("an API server", () => {
    test("that is away for a minute costs no event, and the controller goes on afterwards without a restart", async (context) => {
      const plane = await ownPlane(context);
      const release = await OperatorRelease.install(plane, { values: { gateway: { replicas: 2 } } });
      context.onTestFinished(() => release.stop());
      const shop = await release.tenant();
      await shop.secret("in", { key: "one" });
      await shop.route("orders", SIGNED);
      await becomes(() => shop.condition("orders"), "True/Reconciled");
      const [controller] = release.pods("controller");
      const senders = new Senders({
        ...{ host: HOST, path: `/${shop.namespace}/orders`, key: "one", rate: RATE },
        targets: () => release.gatewayUrls(),
      });
      context.onTestFinished(() => void senders.stop());
      await becomes(() => senders.accepted.size > RATE, true);
      await plane.stopApiServer();
      await sleep(OUTAGE_MS);
      await plane.startApiServer();
      await measured("a Secret changed after an outage, to every gateway,", async () => {
        await shop.secret("in", { key: "two" });
        await becomes(() => shop.postToAll("orders", "two"), [202]);
      });
      expect(await senders.stop()).toEqual({});
      expect(senders.sent).toBeGreaterThan((RATE * OUTAGE_MS) / 1_000);
      await shop.route("refunds", SIGNED);
      await becomes(() => shop.condition("refunds"), "True/Reconciled");
      expect(release.pods("controller")).toEqual([controller]);
      const delivered = () => new Set(shop.deliveredTo("orders"));
      await becomes(() => [...senders.accepted].filter((id) => !delivered().has(id)).length, 0);
    });

    test("that no longer knows the version a controller has seen (410) is listed anew", async (context) => {
      const plane = await ownPlane(context);
      const { release, proxy } = await proxied(plane, context);
      const shop = release.bareTenant(await plane.namespace("shop"));
      await shop.route("before");
      await becomes(() => shop.condition("before", "Programmed"), "True/Reconciled");
      const relists = () => release.metric("controller", "reflector_relists_total");
      const sofar = await relists();
      proxy.refuse(({ path }) => path.includes("watch="));
      proxy.cutWatches();
      await shop.route("meanwhile");
      // The server compacts what is a second old, twice for good measure; each write makes a version.
      for (let turn = 0; turn < 8; turn++) {
        await shop.secret("turn", { turn: String(turn) });
        await sleep(500);
      }
      proxy.refuse(() => false);
      await becomes(() => shop.condition("meanwhile", "Programmed"), "True/Reconciled");
      expect(await relists()).toBeGreaterThan(sofar);
    });

    test("whose watches fall silent without an end (half-open) is watched anew", async (context) => {
      const { release, proxy } = await proxied(cluster, context);
      const shop = release.bareTenant(await cluster.namespace("shop"));
      await shop.route("before");
      await becomes(() => shop.condition("before", "Programmed"), "True/Reconciled");
      expect(proxy.loseWatches()).toBeGreaterThan(5);
      await shop.route("meanwhile");
      await sleep(5_000);
      expect(await shop.condition("meanwhile", "Accepted")).toBe("");
      await measured("recovery from half-open watches", () =>
        becomes(() => shop.condition("meanwhile", "Programmed"), "True/Reconciled", HALF_OPEN_MS),
      );
    });
  });
}
