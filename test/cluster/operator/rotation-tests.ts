import { beforeAll, describe, expect, test } from "vitest";
import type { WebhookRouteSpec } from "../../../src/api/generated/webhook-route.ts";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes, measured } from "../../support/operator/polling.ts";
import type { Tenant } from "../../support/operator/tenant.ts";

const OVERLAP = "5s";
const LONG = "1h";

/** A route that checks signatures with the key of a Secret of its own name. */
const signed = (name: string, overlap: string): Partial<WebhookRouteSpec> => ({
  verification: { hmac: { header: "X-Signature" } },
  secretRefs: [{ name, key: "key" }],
  rotation: { overlap },
});

/** How fast and with which conditions keys change at every gateway; what they do besides is in the suite that `davit dev` passes as well. */
export function rotationTests(release: () => OperatorRelease): void {
  let shop: Tenant;
  beforeAll(async () => {
    shop = await release().tenant();
  });

  /** Statuses of all gateways for events signed with each key. */
  const answers = (name: string, ...keys: readonly string[]) =>
    Promise.all(keys.map(async (key) => (await shop.postToAll(name, key)).join()));

  async function route(name: string, overlap = OVERLAP): Promise<void> {
    await shop.secret(name, { key: "one" });
    await shop.route(name, signed(name, overlap));
    await becomes(() => answers(name, "one", "two"), ["202", "401"]);
  }

  describe.concurrent("a Secret that is changed", () => {
    test("makes every gateway accept both keys, and only the new one after the overlap", async () => {
      await route("changed");
      await measured("a changed Secret to every gateway", async () => {
        await shop.secret("changed", { key: "two" });
        await becomes(() => answers("changed", "two"), ["202"]);
      });
      expect(await answers("changed", "one")).toEqual(["202"]);
      await becomes(() => shop.condition("changed", "RotationInProgress"), expect.stringMatching(/^True/));
      await becomes(() => answers("changed", "one", "two"), ["401", "202"]);
      await becomes(() => shop.keys("changed"), ["current two"]);
      await becomes(() => shop.condition("changed", "RotationInProgress"), expect.stringMatching(/^False/));
      await becomes(() => shop.condition("changed"), "True/Reconciled");
    });

    test("loses its previous keys at once when the annotation says so", async () => {
      await route("revoked", LONG);
      await shop.secret("revoked", { key: "two" });
      await becomes(() => answers("revoked", "one", "two"), ["202", "202"]);
      await measured("a revoked key at every gateway", async () => {
        const at = new Date().toISOString();
        await shop.patchRoute("revoked", { metadata: { annotations: { "davit.dev/revoke-previous-at": at } } });
        await becomes(() => answers("revoked", "one"), ["401"]);
      });
      expect(await answers("revoked", "two")).toEqual(["202"]);
    });
  });

  describe.concurrent("a Secret that goes", () => {
    test.each([
      ["deleted", "SecretNotFound", () => shop.deleteSecret("deleted")],
      ["emptied", "SecretKeyMissing", () => shop.secret("emptied", {})],
    ] as const)("(%s) leaves its last key for the overlap, and comes back as a new one", async (name, reason, go) => {
      await route(name);
      await go();
      await becomes(() => shop.condition(name, "SecretsResolved"), `False/${reason}`);
      expect(await answers(name, "one")).toEqual(["202"]);
      expect(await shop.condition(name)).toBe(`False/${reason}`);
      // No usable key is our fault: the sender is to try again.
      await becomes(() => answers(name, "one"), ["503"]);
      await shop.secret(name, { key: "two" });
      await becomes(() => answers(name, "one", "two"), ["401", "202"]);
      await becomes(() => shop.condition(name), "True/Reconciled");
    });
  });
}
