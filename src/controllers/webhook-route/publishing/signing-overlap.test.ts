import { expect, test } from "vitest";
import type { Live } from "../../../kube/objects.ts";
import { inputOf, routeOf, secretsOf } from "../../../routes/testing.ts";
import { destinationOf, emptySide } from "../../webhook-destination/testing.ts";
import { manifestOf } from "../route/assessment.ts";
import { draftEntry } from "../route/draft.ts";
import { RouteIndex, type RouteObject } from "../watching/route-index.ts";
import { ringOverlapMs, signingOverlapMs } from "./signing-overlap.ts";

function signing(name: string, overlap: string, key = "k"): Live<RouteObject> {
  const { spec } = routeOf({
    rotation: { overlap },
    delivery: { signing: { scheme: "StandardWebhooks", secretRef: { name: "out", key } } },
  });
  return { metadata: { namespace: "shop", name, uid: name, resourceVersion: "1" }, spec };
}

test("a key that several routes sign with stays for the longest overlap among them", () => {
  const routes = new RouteIndex();
  for (const route of [signing("long", "24h"), signing("short", "1h"), signing("other", "72h", "other")]) {
    routes.put(`shop/${route.metadata.name}`, route);
  }
  const sharing = { routes, destinations: emptySide() };
  expect(signingOverlapMs(sharing, signing("short", "1h"))).toBe(24 * 3_600_000);
  expect(signingOverlapMs(sharing, signing("other", "72h", "other"))).toBe(72 * 3_600_000);
  expect(signingOverlapMs(sharing, { ...signing("none", "1h"), spec: routeOf().spec })).toBeUndefined();
});

test("a key that a route has in common with a WebhookDestination stays for the 24 hours of that one at least", () => {
  const [routes, destinations] = [new RouteIndex(), emptySide()];
  const secretRef = { name: "out", key: "k" };
  const shop = { routes, destinations };
  const route = signing("short", "1h");
  routes.put("shop/short", route);
  expect(signingOverlapMs(shop, route)).toBe(3_600_000);
  destinations.index.put("shop/acme", destinationOf("acme", { signing: { scheme: "StandardWebhooks", secretRef } }));
  expect(signingOverlapMs(shop, route)).toBe(86_400_000);
  expect(ringOverlapMs(shop, "shop", { name: "out", key: "another" })).toBeUndefined();
});

test("the overlap of a signing key is not cut short by a route whose own is shorter", () => {
  const secrets = (value: string) =>
    new Map([
      ...secretsOf({ github: { secret: "s" } }),
      ...secretsOf({ out: { k: value } }, { "davit.dev/use": "true" }),
    ]);
  const route = manifestOf(signing("short", "1h"));
  const input = { ...inputOf({ route, secrets: secrets("old") }), signingKeys: [], signingOverlapMs: 86_400_000 };
  const first = draftEntry(input, undefined);
  if (!first.ok) throw new Error("not accepted");
  const signingKeys = first.entry.destinations[0]?.signing?.keys ?? [];
  const second = draftEntry({ ...input, secrets: secrets("new"), signingKeys }, undefined);
  if (!second.ok) throw new Error("not accepted");
  expect(second.entry.destinations[0]?.signing?.keys).toMatchObject([
    { state: "current" },
    { state: "previous", notAfter: input.now + 86_400_000 },
  ]);
});
