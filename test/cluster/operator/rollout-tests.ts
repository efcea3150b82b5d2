import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes } from "../../support/operator/polling.ts";
import { Senders } from "../../support/operator/senders.ts";
import { HOST, SIGNED } from "../../support/operator/tenant.ts";

const RATE = 200;
/** What a load balancer needs to learn of a Pod that is not ready any more; `shutdownDelayMs` is longer. */
const LAG_MS = 250;

/** New gateways take the place of old ones. */
export function rolloutTests(release: () => OperatorRelease): void {
  describe("a rolling update of the gateways under load", () => {
    test("costs no event, though senders learn late which Pods are ready", async () => {
      const shop = await release().tenant();
      await shop.secret("in", { key: "one" });
      await shop.route("orders", SIGNED);
      await becomes(() => shop.condition("orders"), "True/Reconciled");
      const seen: { readonly at: number; readonly urls: readonly string[] }[] = [];
      const targets = () => {
        const now = performance.now();
        seen.push({ at: now, urls: release().gatewayUrls() });
        while (seen.length > 1 && (seen[1]?.at ?? now) <= now - LAG_MS) seen.shift();
        return seen[0]?.urls ?? [];
      };
      const path = `/${shop.namespace}/orders`;
      const senders = new Senders({ host: HOST, path, key: "one", rate: RATE, maxInFlight: 32, targets });
      onTestFinished(() => void senders.stop());
      const before = release().pods("gateway");
      const { admin } = release().cluster;
      const template = { metadata: { annotations: { "example.com/roll": "1" } } };
      await admin.patch(release().deployment("gateway"), { spec: { template } });
      await becomes(
        () =>
          release()
            .pods("gateway")
            .some((pod) => before.includes(pod)),
        false,
      );
      await becomes(() => release().gatewayUrls().length, before.length);
      await sleep(1_000);
      expect(await senders.stop()).toEqual({});
      expect(senders.accepted.size).toBeGreaterThan(RATE);
      const delivered = () => new Set(shop.deliveredTo("orders"));
      await becomes(() => [...senders.accepted].filter((id) => !delivered().has(id)).length, 0);
    });
  });
}
