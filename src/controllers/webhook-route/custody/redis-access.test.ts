import { beforeEach, describe, expect, test } from "vitest";
import type { Namespace } from "../../../kube/core-types.ts";
import type { Live } from "../../../kube/objects.ts";
import type { Operator } from "../operator.ts";
import { Publications } from "../publishing/publications.ts";
import { type RedisAccess, RedisAccessReconciler } from "./redis-access.ts";
import { RouteIndex } from "../watching/route-index.ts";
import { releasedSecret, servedSecret } from "../testing.ts";
import { configOf, namedEntry } from "../testing-plan.ts";

describe("a namespace", () => {
  let publications: Publications;
  let shelved: Set<string>;
  let granted: string[];
  let revoked: string[];
  let hasForerunner: boolean;

  beforeEach(() => {
    [publications, shelved, granted, revoked, hasForerunner] = [new Publications(), new Set(), [], [], false];
    publications.put({ ...servedSecret(namedEntry("orders")), namespaceUid: "now" });
  });

  const { namespace } = namedEntry("orders");
  const look = () => {
    const home = { metadata: { name: namespace, uid: "now", resourceVersion: "1" } } as Live<Namespace>;
    const url = Buffer.from("redis://user:password@host");
    const access: Partial<RedisAccess> = {
      isUsable: () => true,
      revoke: async (of) => revoked.push(of) === 0,
      grant: async (to) => void granted.push(to),
      hasForerunner: async (_, uid) => hasForerunner && uid === "now",
      problem: () => (hasForerunner ? { reason: "EarlierNamespace", message: "" } : undefined),
    };
    const operator: Partial<Operator> = {
      config: configOf(),
      publications,
      shelved,
      routes: new RouteIndex(),
      namespace: () => home,
      secrets: {
        read: async (_: string, [name = ""]: string[]) => ({
          state: "Synced",
          secrets: new Map([[name, { data: new Map([["url", url]]) }]]),
        }),
      } as unknown as Operator["secrets"],
    };
    const reconciler = new RedisAccessReconciler(operator as Operator, access as RedisAccess);
    return reconciler.reconcile(namespace, new AbortController().signal);
  };
  const claim = { namespace, name: "gone", host: "hooks.example.com", path: "/gone", releasedAt: 7 };

  test("gets a user when nothing is left of the one before it", async () => {
    await look();
    expect(granted).toEqual([namespace]);
  });

  test("gets none while something of the one before it lies on a shelf, even with a Secret of its own, and is looked at again", async () => {
    hasForerunner = true;
    expect(await look()).toEqual({ requeueAfterMs: 30_000 });
    expect(granted).toEqual([]);
  });

  test("gets none while a route of the one before it is still served", async () => {
    publications.put({ ...servedSecret(namedEntry("gone")), namespaceUid: "before" });
    expect(await look()).toEqual({ requeueAfterMs: 1_000 });
    expect(granted).toEqual([]);
  });

  test("gets none while a released route of the one before it is not on its shelf yet", async () => {
    const released = { ...releasedSecret(claim), namespaceUid: "before" };
    publications.put(released);
    expect(await look()).toEqual({ requeueAfterMs: 1_000 });
    expect(granted).toEqual([]);
    shelved.add(`${namespace}/${released.name} 7`);
    await look();
    expect(granted).toEqual([namespace]);
  });

  test("keeps its user until the events of its last route are on their shelf", async () => {
    publications = new Publications();
    const released = { ...releasedSecret(claim), namespaceUid: "now" };
    publications.put(released);
    expect(await look()).toEqual({ requeueAfterMs: 1_000 });
    expect(revoked).toEqual([]);
    shelved.add(`${namespace}/${released.name} 7`);
    await look();
    expect(revoked).toEqual([namespace]);
  });
});
