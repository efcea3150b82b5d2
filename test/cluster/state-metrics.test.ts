import { afterAll, beforeAll, expect, test } from "vitest";
import { routeKey } from "../../src/api/names.ts";
import { newEvent, routePolicy } from "../../src/custody/conformance/fixtures.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { sharedCluster } from "../support/cluster.ts";
import { becomes } from "../support/operator/polling.ts";
import { ControllerRelease } from "../support/roles/controller-release.ts";
import type { RoleProcess } from "../support/roles/role-process.ts";

const cluster = sharedCluster();
const poll = { timeout: 60_000, interval: 100 };
const STATE = /^davit_(route_ready|route_info|secret_overlap_remaining_seconds|orphaned_events|queue_events)\{/;

let release: ControllerRelease;
let store: RedisStore;
let leader: RoleProcess;
let follower: RoleProcess;
let shop: string;

beforeAll(async () => {
  release = await ControllerRelease.create(cluster);
  store = new RedisStore({ url: release.redis.url });
  await store.start();
  leader = await release.start();
  shop = await cluster.namespace("shop");
  await release.secret(shop, "in", { key: "one" });
  await release.route(shop, "orders", SIGNED);
  await becomes(() => release.keys(shop, "orders"), ["current one"]);
  // Whoever has published it leads.
  follower = await (await release.start()).ready();
});
afterAll(async () => {
  store?.close();
  await release?.stop();
});

const SIGNED = { verification: { hmac: { header: "X-Signature" } }, secretRefs: [{ name: "in", key: "key" }] };

/** Series of states of a process, without their values. */
async function series(process: RoleProcess): Promise<string[]> {
  const text = await (await fetch(`${process.admin}/metrics`)).text();
  const lines = text.split("\n").filter((line) => STATE.test(line));
  return lines.map((line) => line.slice(0, line.lastIndexOf(" ")).replaceAll(shop, "shop"));
}
const value = (process: RoleProcess, name: string, more = "") =>
  process.metric(`davit_${name}{namespace="${shop}",route="orders"${more}}`);
const scope = () => ({ instance: release.instance, namespace: shop });

const OF_A_ROUTE = [
  'davit_queue_events{namespace="shop",route="orders",state="active"}',
  'davit_queue_events{namespace="shop",route="orders",state="dead"}',
  'davit_queue_events{namespace="shop",route="orders",state="delayed"}',
  'davit_queue_events{namespace="shop",route="orders",state="waiting"}',
  'davit_route_info{namespace="shop",route="orders",verification="hmac",dedupe="weak"}',
  'davit_route_ready{namespace="shop",route="orders"}',
  'davit_secret_overlap_remaining_seconds{namespace="shop",route="orders"}',
];
const ORPHANED = 'davit_orphaned_events{namespace="shop",route="orders"}';

test("the leader alone shows the states of routes, each as long as its object is there, and the next leader takes over", async () => {
  await expect.poll(async () => (await series(leader)).toSorted(), poll).toEqual(OF_A_ROUTE);
  expect(await value(leader, "route_ready")).toBe(0);
  expect(await value(leader, "secret_overlap_remaining_seconds")).toBe(0);
  await release.secret(shop, "in", { key: "two" });
  await expect.poll(() => value(leader, "secret_overlap_remaining_seconds"), poll).toBeGreaterThan(1);

  const { metadata } = await cluster.admin.get(`/api/v1/namespaces/${shop}`);
  const policy = routePolicy({ route: routeKey(metadata.uid ?? "", "orders") });
  const destinations = [{ destination: `${policy.route}/own`, limit: 16 }];
  for (let n = 0; n < 3; n++) await store.inbox(scope()).claim(newEvent({ policy, destinations }));
  await expect.poll(() => value(leader, "queue_events", ',state="waiting"'), poll).toBe(3);
  // Nobody delivers them: half a minute later the status says what waits.
  await expect
    .poll(async () => (await release.status(shop, "orders")).backlog, poll)
    .toEqual({ state: "Growing", waiting: 3, deadLetters: 0 });
  expect(await release.condition(shop, "orders", "QueueReachable")).toBe("True/Reconciled");
  expect(await series(follower)).toEqual([]);

  await release.deleteRoute(shop, "orders");
  await expect.poll(() => series(leader), poll).toEqual([ORPHANED]);
  expect(await value(leader, "orphaned_events")).toBe(3);
  expect(await series(follower)).toEqual([]);

  await release.route(shop, "orders", SIGNED);
  await expect.poll(async () => (await series(leader)).toSorted(), poll).toEqual(OF_A_ROUTE);
  expect(await series(follower)).toEqual([]);

  await leader.end();
  await expect.poll(async () => (await series(follower)).toSorted(), poll).toEqual(OF_A_ROUTE);
});
