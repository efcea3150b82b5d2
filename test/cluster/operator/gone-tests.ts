import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { startControlPlane } from "../../support/control-plane.ts";
import { becomes } from "../../support/operator/polling.ts";
import { proxiedRelease } from "../../support/operator/proxied-release.ts";

/** An API server that has forgotten. */
export function goneTests(): void {
  describe.concurrent("an API server", () => {
    test("that no longer knows the version a controller has seen (410) is listed anew", async (context) => {
      // A plane that forgets old versions after seconds.
      const plane = await startControlPlane({ crds: "davit", etcdCompactionInterval: "1s", watchCache: false });
      context.onTestFinished(() => plane.stop());
      const { release, proxy } = await proxiedRelease(plane, context);
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
  });
}
