import { describe, test } from "vitest";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes } from "../../support/operator/polling.ts";

const LABELS = { team: "payments" };
/** Instead of the destination that a route has by default. */
const SELECTED = {
  destinations: undefined as never,
  destinationSelector: { matchLabels: LABELS, idFrom: "header:X-Customer" },
};

/** Events on their way to WebhookDestinations. */
export function destinationTests(release: () => OperatorRelease): void {
  describe("an event of a route whose events choose", () => {
    test("reaches the WebhookDestination that it names, also one that was created while it waited", async () => {
      const shop = await release().tenant();
      await shop.route("digest", SELECTED);
      await shop.destination("acme", { id: "customer 1" }, LABELS);
      await becomes(() => shop.condition("digest"), "True/Reconciled");
      const first = await shop.postWith("digest", { "X-Customer": "customer 1" });
      await becomes(() => shop.deliveredTo("acme"), [first.id]);
      const second = await shop.postWith("digest", { "X-Customer": "customer 2" });
      await shop.destination("later", { id: "customer 2" }, LABELS);
      await becomes(() => shop.deliveredTo("later"), [second.id]);
    });
  });
}
