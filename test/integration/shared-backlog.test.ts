import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BacklogMonitor } from "../../src/gateway/backlog.ts";
import { routeEntry } from "../../src/gateway/testing.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { publish, startPublishing } from "../support/publishing.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const event = (id: string) => ({ id, type: "a", created: "2026-01-01T00:00:00Z", data: { to: "acme" } });
const copy = { id: "~acme", name: "acme", limit: 1, eventTypes: [] };
const limits = { ...routeEntry().limits, maxBacklog: 3 };

describe("maxBacklog of a route that sends to WebhookDestinations", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  const routes: readonly (readonly [string, Partial<RouteEntry>])[] = [
    ["it names", { route: "1".repeat(16), sharedCopies: [copy] }],
    ["its events choose", { route: "2".repeat(16), destinationIdFrom: "json:/data/to" }],
  ];
  it.each(routes)("refuses events once so many wait for those that %s", async (_, changes) => {
    await redis.client().flushall();
    const route = routeEntry({ name: "push", limits, destinations: [], ...changes });
    const running = { of: (_route: string) => 0 };
    const publishing = await startPublishing(redis, [route], { gateway: { backlog: (key) => running.of(key) } });
    const monitor = new BacklogMonitor({
      ledgerFor: () => publishing.ledger,
      metrics: createMetrics(),
      sharedRoundMs: 0,
    });
    running.of = (key) => monitor.of(key);
    monitor.update([route]);
    const statuses: number[] = [];
    for (const id of ["a", "b", "c", "d"]) {
      await monitor.look();
      statuses.push((await publish(publishing, [event(id)])).status);
    }
    await publishing.close();
    expect(statuses).toEqual([200, 200, 200, 429]);
  });
});
