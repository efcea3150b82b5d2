import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { startControlPlane } from "../../support/control-plane.ts";
import { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes, measured } from "../../support/operator/polling.ts";
import { proxiedRelease } from "../../support/operator/proxied-release.ts";
import { Senders } from "../../support/operator/senders.ts";
import { HOST, SIGNED } from "../../support/operator/tenant.ts";

const OUTAGE_MS = 60_000;
const RATE = 500;
/** With this a reflector takes 30 s of silence for a dead connection instead of 150 s. */
const IMPATIENT = new URL("../../support/operator/impatient-watches.ts", import.meta.url).pathname;
/** Long enough for a busy machine, after 30 s of silence or a pause of up to 30 s between attempts. */
const RECOVERY_MS = 120_000;

/** What becomes of routes when the API server goes away, or a part of what it says. */
export function outageTests(): void {
  describe.concurrent("an API server", () => {
    test("that is away for a minute costs no event, and the controller goes on afterwards without a restart", async (context) => {
      const plane = await startControlPlane({ crds: "davit" });
      context.onTestFinished(() => plane.stop());
      const release = await OperatorRelease.install(plane, { values: { gateway: { replicas: 2 } } });
      context.onTestFinished(() => release.stop());
      const shop = await release.tenant();
      await shop.secret("in", { key: "one" });
      await shop.route("orders", SIGNED);
      // Not delivered, as that would be most of the work.
      await shop.route("many", { ...SIGNED, suspend: "Delivery" });
      await becomes(() => shop.condition("orders"), "True/Reconciled");
      await becomes(() => shop.condition("many", "Programmed"), "True/Reconciled");
      const [controller] = release.pods("controller");
      const [many, few] = [RATE, 5].map((rate, index) => {
        const path = `/${shop.namespace}/${["many", "orders"][index]}`;
        const senders = new Senders({ host: HOST, path, key: "one", rate, targets: () => release.gatewayUrls() });
        context.onTestFinished(() => void senders.stop());
        return senders;
      }) as [Senders, Senders];
      await becomes(() => many.accepted.size > RATE, true);
      await plane.stopApiServer();
      await sleep(OUTAGE_MS);
      await plane.startApiServer();
      // The load has shown what it can, and leaves the processor to the controller.
      expect(await many.stop()).toEqual({});
      expect(many.sent).toBeGreaterThan((RATE * OUTAGE_MS) / 1_000);
      await measured("a Secret changed after an outage, to every gateway,", async () => {
        await shop.secret("in", { key: "two" });
        await becomes(() => shop.postToAll("orders", "two"), [202], RECOVERY_MS);
      });
      expect(await few.stop()).toEqual({});
      await shop.route("refunds", SIGNED);
      await becomes(() => shop.condition("refunds"), "True/Reconciled");
      expect(release.pods("controller")).toEqual([controller]);
      const delivered = () => new Set(shop.deliveredTo("orders"));
      await becomes(() => [...few.accepted].filter((id) => !delivered().has(id)), []);
    });

    test("whose watches fall silent without an end (half-open) is watched anew", async (context) => {
      const plane = await startControlPlane({ crds: "davit" });
      context.onTestFinished(() => plane.stop());
      const { release, proxy } = await proxiedRelease(plane, context, IMPATIENT);
      const shop = release.bareTenant(await plane.namespace("shop"));
      await shop.route("before");
      await becomes(() => shop.condition("before", "Programmed"), "True/Reconciled");
      expect(proxy.loseWatches()).toBeGreaterThan(5);
      await shop.route("meanwhile");
      await sleep(5_000);
      expect(await shop.condition("meanwhile", "Accepted")).toBe("");
      await measured("recovery from half-open watches", () =>
        becomes(() => shop.condition("meanwhile", "Programmed"), "True/Reconciled", RECOVERY_MS),
      );
    });
  });
}
