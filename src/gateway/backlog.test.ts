import { describe, expect, it } from "vitest";
import type { Backlog, Backlogs } from "../custody/backlog.ts";
import { createMetrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { BacklogMonitor } from "./backlog.ts";

/** As much of an entry as the monitor reads. */
function route(name: string, ...destinations: readonly string[]): RouteEntry {
  const ids = destinations.map((destination) => ({ id: `${name}/${destination}` }));
  return { namespace: "shop", name, route: `key-of-${name}`, destinations: ids } as unknown as RouteEntry;
}

function backlog(part: Partial<Backlog>): Backlog {
  return { waiting: 0, active: 0, delayed: 0, dead: 0, oldestWaitingSeconds: 0, oldestDelayedSeconds: 0, ...part };
}

/** What the monitor asks; without WebhookDestinations unless they are given. */
function ledger(
  stats: Backlogs["stats"],
  sharedBacklogs: Backlogs["sharedBacklogs"] = () => Promise.reject(new Error("nobody sends to WebhookDestinations")),
): Backlogs {
  return { stats, sharedBacklogs };
}

describe("BacklogMonitor", () => {
  it("sums the destinations of a route, and takes the oldest age", async () => {
    const metrics = createMetrics();
    const stats = new Map([
      ["orders/a", backlog({ waiting: 2, delayed: 1, dead: 4, oldestWaitingSeconds: 3 })],
      ["orders/b", backlog({ waiting: 1, active: 1, oldestWaitingSeconds: 9, oldestDelayedSeconds: 1 })],
    ]);
    const monitor = new BacklogMonitor({ ledgerFor: () => ledger(async () => stats), metrics });
    monitor.update([route("orders", "a", "b")]);
    await monitor.look();
    // Dead letters are final: they do not count against maxBacklog.
    expect(monitor.of("key-of-orders")).toBe(5);
    const text = await metrics.registry.metrics();
    expect(text).toContain('davit_queue_events{namespace="shop",route="orders",state="waiting"} 3');
    expect(text).toContain('davit_queue_events{namespace="shop",route="orders",state="dead"} 4');
    expect(text).toContain('davit_queue_oldest_age_seconds{namespace="shop",route="orders",state="waiting"} 9');
  });

  it("shows what waits for each destination and the state of its gate, of a shared one without a route", async () => {
    const metrics = createMetrics();
    const stats = new Map([["~acme%2Feu", backlog({ waiting: 2, delayed: 3, gate: "Disabled" })]]);
    const monitor = new BacklogMonitor({ ledgerFor: () => ledger(async () => stats), metrics });
    const entry = route("orders");
    monitor.update([
      { ...entry, destinations: [{ id: "~acme%2Feu" }, { id: "0a/own", name: "own" }] } as unknown as RouteEntry,
    ]);
    await monitor.look();
    const text = await metrics.registry.metrics();
    expect(text).toContain('davit_destination_waiting{namespace="shop",route="",destination="acme/eu"} 5');
    expect(text).toContain('davit_destination_circuit_state{namespace="shop",route="",destination="acme/eu"} 4');
    expect(text).toContain('davit_destination_circuit_state{namespace="shop",route="orders",destination="own"} 0');
    monitor.update([]);
    expect(await metrics.registry.metrics()).not.toContain("davit_destination_waiting{");
  });

  it("keeps the last figures while the store does not answer", async () => {
    let fails = false;
    const stats = async () => {
      if (fails) throw new Error("down");
      return new Map([["orders/a", backlog({ waiting: 7 })]]);
    };
    const monitor = new BacklogMonitor({ ledgerFor: () => ledger(stats), metrics: createMetrics() });
    monitor.update([route("orders", "a")]);
    await monitor.look();
    fails = true;
    await monitor.look();
    expect(monitor.of("key-of-orders")).toBe(7);
  });

  it("lets the series of a removed route go, also of one removed during a look", async () => {
    const metrics = createMetrics();
    const monitor: BacklogMonitor = new BacklogMonitor({
      ledgerFor: () =>
        ledger(async () => {
          monitor.update([route("other", "a")]);
          return new Map([["orders/a", backlog({ waiting: 1 })]]);
        }),
      metrics,
    });
    monitor.update([route("orders", "a")]);
    await monitor.look();
    expect(await metrics.registry.metrics()).not.toContain('route="orders"');
  });

  it("leaves the gauges to another process as long as it is told so, and counts for its own limits all the same", async () => {
    const metrics = createMetrics();
    let shows = true;
    const stats = async () => new Map([["orders/a", backlog({ waiting: 7 })]]);
    const monitor = new BacklogMonitor({ ledgerFor: () => ledger(stats), metrics, shows: () => shows });
    monitor.update([route("orders", "a")]);
    await monitor.look();
    expect(await metrics.registry.metrics()).toContain('route="orders"');
    shows = false;
    await monitor.look();
    expect(await metrics.registry.metrics()).not.toContain('route="orders"');
    expect(monitor.of("key-of-orders")).toBe(7);
  });

  it("tells whoever listens of each route, with the last delivery to any of its destinations", async () => {
    const stats = async () =>
      new Map([
        ["orders/a", backlog({ waiting: 2, deliveredSecondsAgo: 400 })],
        ["orders/b", backlog({ waiting: 1, deliveredSecondsAgo: 7 })],
        ["new/a", backlog({ waiting: 1 })],
      ]);
    const heard: [string, Backlog][] = [];
    const onLook = (entry: RouteEntry, sum: Backlog) => void heard.push([entry.name, sum]);
    const monitor = new BacklogMonitor({ ledgerFor: () => ledger(stats), metrics: createMetrics(), onLook });
    monitor.update([route("orders", "a", "b"), route("new", "a")]);
    await monitor.look();
    expect(heard).toEqual([
      ["orders", backlog({ waiting: 3, deliveredSecondsAgo: 7 })],
      ["new", backlog({ waiting: 1 })],
    ]);
  });

  it("asks for many destinations in pages", async () => {
    const sizes: number[] = [];
    const stats = async (ids: readonly string[]) => {
      sizes.push(ids.length);
      return new Map<string, Backlog>();
    };
    const names = Array.from({ length: 1_100 }, (_, index) => String(index));
    const monitor = new BacklogMonitor({ ledgerFor: () => ledger(stats), metrics: createMetrics() });
    monitor.update([route("orders", ...names)]);
    await monitor.look();
    expect(sizes).toEqual([500, 500, 100]);
  });
});

describe("BacklogMonitor, of routes that send to WebhookDestinations", () => {
  const toShared = (name: string, ...ids: readonly string[]) =>
    ({ ...route(name), sharedCopies: ids.map((id) => ({ id })) }) as unknown as RouteEntry;
  const byEvent = (name: string) => ({ ...route(name, "own"), destinationIdFrom: "header:x-id" }) as RouteEntry;
  const none = async () => new Map<string, Backlog>();
  const SHARED = new Map([
    ["~a", backlog({ waiting: 2, delayed: 1, oldestWaitingSeconds: 5 })],
    ["~b", backlog({ active: 4, dead: 1 })],
    ["~c", backlog({ waiting: 8 })],
  ]);

  it("counts to each all that lies for those it sends to, and for one whose events choose all of the namespace", async () => {
    const stats = async () => new Map([["chosen/own", backlog({ waiting: 100 })]]);
    const ledgerFor = () => ledger(stats, async () => ({ backlogs: SHARED }));
    const heard = new Map<string, Backlog>();
    const onLook = (entry: RouteEntry, sum: Backlog) => void heard.set(entry.name, sum);
    const metrics = createMetrics();
    const monitor = new BacklogMonitor({ ledgerFor, metrics, onLook });
    monitor.update([toShared("one", "~a", "~b"), byEvent("chosen"), toShared("none")]);
    await monitor.look();
    expect(["one", "chosen", "none"].map((name) => monitor.of(`key-of-${name}`))).toEqual([7, 115, 0]);
    expect(heard.get("one")).toMatchObject({ waiting: 2, active: 4, delayed: 1, dead: 1, oldestWaitingSeconds: 5 });
    const text = await metrics.registry.metrics();
    // Once, without a route: a sum over all series counts no copy twice.
    expect(text).toContain('davit_queue_events{namespace="shop",route="",state="waiting"} 10');
    expect(text).toContain('davit_queue_events{namespace="shop",route="one",state="waiting"} 0');
    expect(text).toContain('davit_queue_events{namespace="shop",route="chosen",state="waiting"} 100');
    expect(text).toContain('davit_queue_oldest_age_seconds{namespace="shop",route="",state="waiting"} 5');
  });

  it("does not ask for them where no route sends to any, and lets their series go", async () => {
    let asked = 0;
    const sharedBacklogs = async () => ({ backlogs: (asked++, SHARED) });
    const metrics = createMetrics();
    const monitor = new BacklogMonitor({ ledgerFor: () => ledger(none, sharedBacklogs), metrics, sharedRoundMs: 0 });
    monitor.update([route("orders", "a")]);
    await monitor.look();
    expect(asked).toBe(0);
    monitor.update([toShared("one", "~a")]);
    await monitor.look();
    expect(asked).toBe(1);
    monitor.update([route("orders", "a")]);
    await monitor.look();
    expect(asked).toBe(1);
    expect(await metrics.registry.metrics()).not.toContain('route=""');
  });

  it("leaves the series to another process as long as it is told so", async () => {
    const metrics = createMetrics();
    let shows = true;
    const ledgerFor = () => ledger(none, async () => ({ backlogs: SHARED }));
    const monitor = new BacklogMonitor({ ledgerFor, metrics, shows: () => shows });
    monitor.update([toShared("one", "~a")]);
    await monitor.look();
    expect(await metrics.registry.metrics()).toContain('route=""');
    shows = false;
    await monitor.look();
    expect(await metrics.registry.metrics()).not.toContain('route=""');
    expect(monitor.of("key-of-one")).toBe(3);
  });

  it("keeps the last figures while the store does not answer", async () => {
    let fails = false;
    const sharedBacklogs = async () => {
      if (fails) throw new Error("down");
      return { backlogs: SHARED };
    };
    const ledgerFor = () => ledger(none, sharedBacklogs);
    const monitor = new BacklogMonitor({ ledgerFor, metrics: createMetrics(), sharedRoundMs: 0 });
    monitor.update([toShared("one", "~a")]);
    await monitor.look();
    fails = true;
    await monitor.look();
    expect(monitor.of("key-of-one")).toBe(3);
  });
});
