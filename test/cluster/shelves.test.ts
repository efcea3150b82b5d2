import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { WebhookRouteSpec } from "../../src/api/generated/webhook-route.ts";
import { routeKey } from "../../src/api/names.ts";
import { newEvent, routePolicy } from "../../src/custody/conformance/fixtures.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { sharedCluster } from "../support/cluster.ts";
import { ControllerRelease } from "../support/roles/controller-release.ts";

const cluster = sharedCluster();
const poll = { timeout: 60_000, interval: 50 };

describe("events of deleted WebhookRoutes", () => {
  let release: ControllerRelease;
  let store: RedisStore;
  let shop: string;
  let route: string;

  beforeAll(async () => {
    release = await ControllerRelease.create(cluster);
  });
  afterAll(() => release.stop());
  beforeEach(async () => {
    shop = await cluster.namespace("shop");
    const { metadata } = await cluster.admin.get(`/api/v1/namespaces/${shop}`);
    route = routeKey(metadata.uid ?? "", "orders");
    store = new RedisStore({ url: release.redis.url });
    await store.start();
  });
  afterEach(() => store.close());

  const scope = () => ({ instance: release.instance, namespace: shop });
  const shelves = () => store.shelves(scope());
  /** Publishes the route, then accepts events for it as a gateway would. */
  const withEvents = async (count: number, spec: Partial<WebhookRouteSpec> = {}) => {
    await release.route(shop, "orders", spec);
    await expect.poll(async () => (await release.entry(shop, "orders"))?.route, poll).toBe(route);
    const destinations = [{ destination: `${route}/own`, limit: 16 }];
    const inbox = store.inbox(scope());
    for (let n = 0; n < count; n++) await inbox.claim(newEvent({ policy: routePolicy({ route }), destinations }));
  };
  const eventsOf = async (reason: string) =>
    (await release.list(shop, "events.k8s.io/v1/events"))
      .filter((event) => event["reason"] === reason)
      .map((event) => ({ note: event["note"] as string, regarding: event["regarding"].name as string }));

  test("are purged at once when the route asks for it, and one Event says how many", async () => {
    const controller = await release.start();
    await withEvents(3, { deletionPolicy: "Purge" });
    expect(await shelves().routes()).toEqual([route]);
    await release.deleteRoute(shop, "orders");
    await expect.poll(() => shelves().routes(), poll).toEqual([]);
    await expect.poll(async () => (await eventsOf("EventsPurged")).length, poll).toBe(1);
    expect(await eventsOf("EventsPurged")).toEqual([
      {
        note: expect.stringMatching(/^3 events were removed.*: 3 copies had not been delivered, 0 /),
        regarding: "orders",
      },
    ]);
    await controller.end();
  });

  test("are purged by the next leader when the last one died in between", async () => {
    const controller = await release.start();
    await withEvents(2, { deletionPolicy: "Purge" });
    // With Redis away the route goes and its events cannot.
    release.redis.freeze();
    await release.deleteRoute(shop, "orders");
    const released = { released: expect.objectContaining({ deletionPolicy: "Purge" }) };
    await expect.poll(() => release.publication(shop, "orders"), poll).toMatchObject(released);
    await controller.end("SIGKILL");
    release.redis.thaw();
    expect(await shelves().routes()).toEqual([route]);
    const next = await release.start();
    await expect.poll(() => shelves().routes(), poll).toEqual([]);
    await next.end();
  });

  test("keep their claim until they are on their shelf, however short a place is held", async () => {
    const controller = await release.start({ controller: { claimHoldMs: 0 } });
    await withEvents(2);
    release.redis.freeze();
    await release.deleteRoute(shop, "orders");
    await expect.poll(async () => (await release.publication(shop, "orders")) ?? {}, poll).toHaveProperty("released");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await release.publication(shop, "orders")).toBeDefined();
    release.redis.thaw();
    await expect.poll(async () => (await shelves().orphans()).map(({ events }) => events), poll).toEqual([2]);
    await expect.poll(() => release.publication(shop, "orders"), poll).toBeUndefined();
    await controller.end();
  });

  test("go when they have been kept for long enough, with one Event", async () => {
    const controller = await release.start({ controller: { orphanRetentionMs: 0 } });
    await withEvents(2);
    await release.deleteRoute(shop, "orders");
    await expect.poll(() => shelves().routes(), poll).toEqual([]);
    await expect.poll(async () => (await eventsOf("EventsExpired")).length, poll).toBe(1);
    await controller.end();
  });

  test("stay on the shelf when their namespace goes too, until they have been kept for long enough", async () => {
    const controller = await release.start();
    await withEvents(2);
    await cluster.admin.delete(`/api/v1/namespaces/${shop}`);
    await expect.poll(async () => (await shelves().orphans()).map(({ events }) => events), poll).toEqual([2]);
    await controller.end();
  });
});
