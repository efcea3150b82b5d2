import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { sharedCluster } from "../support/cluster.ts";
import { becomes } from "../support/operator/polling.ts";
import { ControllerRelease } from "../support/roles/controller-release.ts";
import type { RoleProcess } from "../support/roles/role-process.ts";

const cluster = sharedCluster();
let release: ControllerRelease;
let controller: RoleProcess;

beforeAll(async () => {
  release = await ControllerRelease.create(cluster);
  controller = await release.start();
  await release.gateway("gateway-0", Number.MAX_SAFE_INTEGER);
});
afterAll(() => release.stop());

const USABLE = { "davit.dev/use": "true" };

/** A namespace with a route whose workers are told of every WebhookDestination there. */
async function namespaceWithWorkers(): Promise<string> {
  const namespace = await cluster.namespace("shop");
  await release.secret(namespace, "davit-redis", { url: release.redis.url });
  await release.route(namespace, "orders");
  return namespace;
}

/** State, end, generation, failures since when, row, trips, ramp, time of the change, reason: see `lua/gate.lua`. */
const DISABLED = "D 0 1 1 1700000000000 0 0 0 1700000000000 Gone";

const ready = (namespace: string, name: string) =>
  becomes(() => release.destinationCondition(namespace, name), "True/Reconciled");
const told = async (namespace: string) => (await release.workersDestinations(namespace)).map(({ id }) => id);

describe("a WebhookDestination", () => {
  test("is published without keys, reaches the workers with its stamp, and says that it is ready and which id it holds", async () => {
    const shop = await namespaceWithWorkers();
    await release.destination(shop, "acme", { id: "customer 1", concurrency: 3 });
    await ready(shop, "acme");
    const published = await release.destinationPublication(shop, "acme");
    expect(published).toMatchObject({
      namespace: shop,
      name: "acme",
      id: "customer 1",
      destination: "~customer%201",
      limit: 3,
      tokenHashes: [],
    });
    expect(await release.destinationStatus(shop, "acme")).toMatchObject({ id: "customer 1", circuit: "Closed" });
    await becomes(
      () => release.workersDestinations(shop),
      [expect.objectContaining({ id: "~customer%201", seq: published?.seq, concurrency: 3 })],
    );
    await release.patchDestination(shop, "acme", { spec: { concurrency: 4 } });
    await becomes(async () => (await release.workersDestinations(shop))[0]?.concurrency, 4);
    const next = await release.destinationPublication(shop, "acme");
    expect(next?.seq).toBeGreaterThan(published?.seq ?? Number.POSITIVE_INFINITY);
    await release.patchDestination(shop, "acme", { spec: { suspend: true } });
    await becomes(() => release.destinationCondition(shop, "acme", "Suspended"), "True/Suspended");
    await release.deleteDestination(shop, "acme");
    await becomes(() => release.destinationPublication(shop, "acme"), undefined);
    await becomes(() => told(shop), []);
  });

  test("whose id another one holds says so, and gets it when that one goes", async () => {
    const shop = await namespaceWithWorkers();
    await release.destination(shop, "first", { id: "acme" });
    await ready(shop, "first");
    await release.destination(shop, "second", { id: "acme" });
    await becomes(() => release.destinationCondition(shop, "second", "Accepted"), "False/IdConflict");
    expect(await release.destinationPublication(shop, "second")).toBeUndefined();
    await release.deleteDestination(shop, "first");
    await ready(shop, "second");
    await becomes(() => told(shop), ["~acme"]);
  });

  test("whose Secret is missing names it, is held back, and goes on when the Secret is there; a new key is signed with beside the old one", async () => {
    const shop = await namespaceWithWorkers();
    const signing = { scheme: "StandardWebhooks", secretRef: { name: "out", key: "key" } } as const;
    await release.destination(shop, "acme", { signing });
    await becomes(() => release.destinationCondition(shop, "acme"), "False/SecretNotFound");
    await release.secret(shop, "out", { key: "one" }, USABLE);
    await ready(shop, "acme");
    const keys = async () => {
      const [entry] = await release.workersDestinations(shop);
      return (entry?.signing?.keys ?? []).map(
        ({ state, value }) => `${state} ${Buffer.from(value, "base64").toString()}`,
      );
    };
    await becomes(keys, ["current one"]);
    const before = await release.destinationPublication(shop, "acme");
    await release.secret(shop, "out", { key: "two" });
    await becomes(keys, ["current two", "previous one"]);
    const after = await release.destinationPublication(shop, "acme");
    expect(after?.seq).toBeGreaterThan(before?.seq ?? Number.POSITIVE_INFINITY);
    expect(after?.digest).not.toBe(before?.digest);
    expect(JSON.stringify(after)).not.toMatch(/one|two/);
  });
});

describe("a route", () => {
  test("that names a WebhookDestination takes no event until there is one, and then sends it copies", async () => {
    const shop = await cluster.namespace("shop");
    const destinations = [{ name: "theirs", destinationRef: { name: "acme" } }];
    await release.route(shop, "orders", { destinations, worker: { dedicated: {} } });
    const condition = () => release.condition(shop, "orders", "DestinationsResolved");
    await becomes(condition, "False/DestinationNotFound");
    await becomes(async () => (await release.entry(shop, "orders"))?.suspend, "Ingest");
    await release.destination(shop, "acme", { id: "customer 1", concurrency: 3 });
    await becomes(condition, "True/Reconciled");
    const entry = await release.entry(shop, "orders");
    expect(entry).toMatchObject({ suspend: "None", destinations: [] });
    expect(entry?.sharedCopies).toEqual([{ id: "~customer%201", name: "acme", limit: 3, eventTypes: [] }]);
    // Whoever its own workers are, the namespace's shared ones drain the destination, and know the route.
    await becomes(() => told(shop), ["~customer%201"]);
    await becomes(async () => (await release.workersRoutes(shop)).map(({ name }) => name), ["orders"]);
  });

  test("that selects WebhookDestinations follows their labels, and those of no other route are looked at", async () => {
    const shop = await cluster.namespace("shop");
    await release.destination(shop, "a", {}, { team: "payments" });
    await release.destination(shop, "b", {}, { team: "support" });
    await Promise.all([ready(shop, "a"), ready(shop, "b")]);
    const destinationSelector = { matchLabels: { team: "payments" } };
    await release.route(shop, "orders", { destinations: undefined as never, destinationSelector });
    const copies = async () => (await release.entry(shop, "orders"))?.sharedCopies?.map(({ id }) => id);
    await becomes(copies, ["~a"]);
    await release.patchDestination(shop, "b", { metadata: { labels: { team: "payments" } } });
    await becomes(copies, ["~a", "~b"]);
    await release.deleteDestination(shop, "a");
    await becomes(copies, ["~b"]);
  });
});

describe("a gate", () => {
  test("that is disabled shows with its reason, and is enabled by the annotation, once", async () => {
    const shop = await cluster.namespace("shop");
    await release.destination(shop, "acme");
    await ready(shop, "acme");
    const store = new RedisStore({ url: release.redis.url });
    const gates = store.ledger({ instance: release.instance, namespace: shop });
    try {
      await store.start();
      await release.redis.client().hset(`davit:${release.instance}:{${shop}}:gate:~acme`, "st", DISABLED);
      expect((await gates.gate("~acme")).state).toBe("Disabled");
      await becomes(() => release.destinationCondition(shop, "acme", "Disabled"), "True/Gone");
      expect(await release.destinationStatus(shop, "acme")).toMatchObject({
        circuit: "Open",
        disabled: { reason: "Gone", since: "2023-11-14T22:13:20Z" },
      });
      const at = "2026-11-30T12:00:00Z";
      await release.patchDestination(shop, "acme", { metadata: { annotations: { "davit.dev/enable-at": at } } });
      await becomes(async () => (await release.destinationStatus(shop, "acme")).lastHandled, { enableAt: at });
      expect((await gates.gate("~acme")).state).toBe("Closed");
    } finally {
      store.close();
    }
  });
});

describe("a controller that starts anew", () => {
  test("finds every id with who held it, and workers are told of none less meanwhile", async () => {
    const shop = await namespaceWithWorkers();
    for (const name of ["a", "b", "c"]) await release.destination(shop, name, { id: `id-${name}` });
    await becomes(() => told(shop), ["~id-a", "~id-b", "~id-c"]);
    const before = await Promise.all(["a", "b", "c"].map((name) => release.destinationPublication(shop, name)));
    expect(await controller.end()).toBe(0);
    await release.deleteDestination(shop, "b");
    await release.destination(shop, "d", { id: "id-a" });
    controller = await release.start();
    await becomes(() => release.destinationPublication(shop, "b"), undefined);
    await becomes(() => release.destinationCondition(shop, "d", "Accepted"), "False/IdConflict");
    await becomes(() => told(shop), ["~id-a", "~id-c"]);
    expect(await release.destinationPublication(shop, "a")).toEqual(before[0]);
    expect(await release.destinationPublication(shop, "c")).toEqual(before[2]);
  });
});
