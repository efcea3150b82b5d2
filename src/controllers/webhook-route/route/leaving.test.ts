import { describe, expect, test } from "vitest";
import { routeKey } from "../../../api/names.ts";
import type { Live } from "../../../kube/objects.ts";
import { entryOf } from "../../../routes/testing.ts";
import { boundClaims, releaseForerunner, tidyClaims } from "./leaving.ts";
import type { Operator } from "../operator.ts";
import { type EntrySecret, entryIn, Publications, releasedIn } from "../publishing/publications.ts";
import type { Draft, PublicationTarget } from "../publishing/route-publisher.ts";
import { RouteIndex, type RouteObject } from "../watching/route-index.ts";
import { type ShelfRound, ShelfReconciler } from "../custody/shelf-reconciler.ts";
import { releasedSecret, servedSecret } from "../testing.ts";
import { configOf } from "../testing-plan.ts";

const SERVED = servedSecret({ ...entryOf(), namespace: "shop", name: "orders" });
const targetIn = (namespaceUid: string) => ({ name: SERVED.name, route: "shop/orders", namespaceUid });

/** A route of the namespace with this UID, and what a namespace of its name had published before it. */
function setUp(namespaceUid: string) {
  const publications = new Publications();
  publications.put(SERVED);
  const routes = new RouteIndex();
  const metadata = { namespace: "shop", name: "orders", uid: "u", resourceVersion: "1" };
  routes.put("shop/orders", { metadata, spec: { exposure: { host: "h", path: "/" } } } as unknown as Live<RouteObject>);
  const rounds: ShelfRound[] = [];
  const publish = async (target: PublicationTarget, draft: Draft) => {
    const before = publications.get(target.name);
    const publication = draft(before, 9);
    if (before && publication) publications.put({ ...before, ...target, resourceVersion: "2", publication });
  };
  const operator = {
    routes,
    publications,
    publisher: { publish },
    clock: { now: () => 7 },
    shelved: new Set<string>(),
    namespace: () => ({ metadata: { name: "shop", uid: namespaceUid, resourceVersion: "1" } }),
    enqueue: { route: () => undefined },
  } as unknown as Operator;
  const keep = async (round: ShelfRound) => void rounds.push(round);
  const keeper = { keep, retireQueue: async () => undefined } as unknown as ConstructorParameters<
    typeof ShelfReconciler
  >[1];
  return { operator, publications, rounds, shelves: new ShelfReconciler(operator, keeper) };
}

describe("a route of a namespace that was made anew while nobody looked", () => {
  test("waits until the events of the one before it are on their shelf", async () => {
    const { operator, publications, rounds, shelves } = setUp("another-uid");
    expect(await releaseForerunner(operator, targetIn("another-uid"))).toBe(true);
    const left = publications.get(SERVED.name);
    expect(left && releasedIn(left)).toMatchObject({ namespace: "shop", name: "orders", releasedAt: 7 });
    expect(left?.namespaceUid).toBe(SERVED.namespaceUid);
    await shelves.reconcile("shop", new AbortController().signal);
    expect(rounds[0]?.deleted.map(({ route }) => route)).toEqual([routeKey(SERVED.namespaceUid, "orders")]);
    expect(await releaseForerunner(operator, targetIn("another-uid"))).toBe(false);
  });

  test("is no other than the one before while the namespace is the same", async () => {
    const { operator, publications, rounds, shelves } = setUp(SERVED.namespaceUid);
    expect(await releaseForerunner(operator, targetIn(SERVED.namespaceUid))).toBe(false);
    expect(entryIn(publications.get(SERVED.name))).toBeDefined();
    await shelves.reconcile("shop", new AbortController().signal);
    expect(rounds[0]?.deleted).toEqual([]);
  });
});

describe("a route that moves again and again", () => {
  test("keeps the last 16 places that it has left for its namespace, and not all of a day", async () => {
    const publications = new Publications();
    for (let n = 0; n < 20; n += 1) {
      const claim = { namespace: "shop", name: "orders", host: "hooks.example.com", path: `/${n}`, releasedAt: n };
      publications.put(releasedSecret(claim));
    }
    const remove = async (name: string, isOver: (secret: EntrySecret) => boolean) => {
      const published = publications.get(name);
      if (published && isOver(published)) publications.drop(name);
    };
    const operator = { publications, publisher: { remove }, config: configOf(), routes: new RouteIndex() };
    await tidyClaims(operator as unknown as Operator, "shop/orders", 100);
    const left = publications.ofRoute("shop/orders").flatMap((secret) => releasedIn(secret)?.releasedAt ?? []);
    expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, n) => n + 4));
  });
});

describe("routes that are made and deleted again and again", () => {
  test("leave at most 256 places held for their namespace, the last ones, and one line in the log", async () => {
    const publications = new Publications();
    const held = (namespace: string, n: number) =>
      releasedSecret({ namespace, name: `r${n}`, host: "hooks.example.com", path: `/${n}`, releasedAt: n });
    for (let n = 0; n < 260; n += 1) publications.put(held("shop", n));
    publications.put(held("other", 0));
    const remove = async (name: string, isOver: (secret: EntrySecret) => boolean) => {
      const published = publications.get(name);
      if (published === undefined || !isOver(published)) return false;
      publications.drop(name);
      return true;
    };
    const said: object[] = [];
    const logger = { warn: (what: object) => said.push(what) };
    const shelved = new Set<string>();
    const known = { routes: new RouteIndex(), namespace: () => undefined, config: configOf() };
    const operator = { ...known, publications, publisher: { remove }, logger, shelved } as unknown as Operator;
    await boundClaims(operator, "shop");
    expect([publications.size, said]).toEqual([261, []]);
    await boundClaims({ ...operator, shelved: undefined }, "shop");
    const left = publications.inNamespace("shop").map((secret) => releasedIn(secret)?.releasedAt ?? -1);
    expect([left.length, Math.min(...left)]).toEqual([256, 4]);
    expect(publications.inNamespace("other")).toHaveLength(1);
    expect(said).toEqual([{ namespace: "shop", freed: 4, oldest: "shop/r0" }]);
  });
});
