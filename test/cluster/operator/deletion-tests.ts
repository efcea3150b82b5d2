import { describe, expect, test } from "vitest";
import { heldPort } from "../../support/held-port.ts";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes, measured } from "../../support/operator/polling.ts";
import { postMany } from "../../support/operator/senders.ts";
import type { Tenant } from "../../support/operator/tenant.ts";

const EVENTS = 1_000;

/** Events of routes that go. */
export function deletionTests(release: () => OperatorRelease): void {
  const retry = { schedule: Array.from({ length: 30 }, () => "2s") };

  /** Posts the events, deletes the route, and applies it again with these changes. */
  async function deleteAndApply(shop: Tenant, before: object, after: object): Promise<readonly string[]> {
    await shop.route("orders", before);
    await becomes(() => shop.condition("orders", "Programmed"), "True/Reconciled");
    const ids = await postMany(EVENTS, () => shop.post("orders"));
    expect(new Set(ids).size).toBe(EVENTS);
    await shop.deleteRoute("orders");
    await becomes(() => shop.publication("orders"), expect.objectContaining({ released: expect.anything() }));
    // Gateways hear of it a moment later: what they accept until then is an event like the others.
    const refused = async () => {
      const { status, id } = await shop.post("orders");
      if (status === 202 && id !== undefined) ids.push(id);
      return status;
    };
    await becomes(refused, 503);
    await shop.route("orders", after);
    return ids;
  }

  describe.concurrent("a route that is deleted and applied again", () => {
    test("delivers each of the 1,000 events that waited, once", async () => {
      const shop = await release().tenant();
      const ids = await deleteAndApply(shop, { suspend: "Delivery" }, {});
      await measured("delivery of 1,000 events of a route applied again", () =>
        becomes(() => shop.deliveredTo("orders").length, ids.length),
      );
      expect(shop.deliveredTo("orders").toSorted()).toEqual(ids.toSorted());
    });

    test("delivers each of the 1,000 events that waited for another attempt, once, and where it says now", async () => {
      const shop = await release().tenant();
      const nowhere = [{ name: "own", url: `http://127.0.0.1:${await heldPort()}/`, allowInsecureHTTP: true }];
      const ids = await deleteAndApply(
        shop,
        { destinations: nowhere, delivery: { concurrency: 64, retry } },
        { delivery: { concurrency: 64, retry } },
      );
      await becomes(() => shop.deliveredTo("orders").length, ids.length);
      expect(shop.deliveredTo("orders").toSorted()).toEqual(ids.toSorted());
    });
  });
}
