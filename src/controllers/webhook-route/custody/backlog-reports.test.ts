import { describe, expect, it } from "vitest";
import type { BacklogLook } from "./backlog-state.ts";
import { BacklogReports } from "./backlog-reports.ts";
import type { Operator } from "../operator.ts";
import { RouteIndex, type RouteObject } from "../watching/route-index.ts";
import type { Live } from "../../../kube/objects.ts";

/** Reports of some routes, and an operator that writes what they say. */
class Cluster {
  now = 0;
  /** Names of routes in the order in which their status was written. */
  readonly written: string[] = [];
  readonly routes = new RouteIndex();
  readonly reports: BacklogReports;
  readonly names: readonly string[];

  constructor(names: readonly string[]) {
    this.names = names;
    const enqueue = { route: (key: string) => this.#write(key) } as Operator["enqueue"];
    this.reports = new BacklogReports({ routes: this.routes, enqueue }, { monotonic: () => this.now });
    for (const name of names) this.#put(`shop/${name}`);
  }

  /** Lets so many seconds pass, with a look every 5 of them. */
  pass(seconds: number, look: (name: string) => Partial<BacklogLook>): void {
    for (let second = 0; second < seconds; second++) {
      this.now += 1_000;
      if (this.now % 5_000 === 0) {
        for (const name of this.names) {
          const seen = { waiting: 0, deadLetters: 0, oldestSeconds: 0, deliveredSecondsAgo: 0, isSuspended: false };
          this.reports.note({ namespace: "shop", name, route: `key of ${name}` }, { ...seen, ...look(name) });
        }
      }
      this.reports.release();
    }
  }

  backlog(name: string): object | undefined {
    return this.routes.get(`shop/${name}`)?.status?.backlog;
  }

  #write(key: string): void {
    const name = key.slice("shop/".length);
    this.written.push(name);
    this.#put(key, this.reports.of(`key of ${name}`));
  }

  #put(key: string, backlog?: object): void {
    const metadata = { namespace: "shop", name: key.slice("shop/".length), uid: key, resourceVersion: "1" };
    const spec = { exposure: { host: "hooks.example.com", path: `/${key}` } };
    this.routes.put(key, { metadata, spec, ...(backlog && { status: { backlog } }) } as unknown as Live<RouteObject>);
  }
}

describe("numbers of backlogs", () => {
  it("come into the status, and cause no writes while they stay", () => {
    const cluster = new Cluster(["orders", "idle"]);
    const look = (name: string) => (name === "orders" ? { waiting: 123, deadLetters: 4 } : {});
    cluster.pass(60, look);
    expect(cluster.backlog("orders")).toEqual({ state: "Draining", waiting: 100, deadLetters: 4 });
    expect(cluster.backlog("idle")).toBeUndefined();
    cluster.pass(3_600, look);
    expect(cluster.written).toEqual(["orders"]);
  });

  it("say that a backlog has gone", () => {
    const cluster = new Cluster(["orders"]);
    cluster.pass(60, () => ({ waiting: 5 }));
    cluster.pass(60, () => ({}));
    expect(cluster.backlog("orders")).toEqual({ state: "Empty", waiting: 0, deadLetters: 0 });
  });

  it("change at most every 30 s for one route", () => {
    const cluster = new Cluster(["orders"]);
    let waiting = 1;
    cluster.pass(300, () => ({ waiting: (waiting *= 2) }));
    expect(cluster.written.length).toBeGreaterThan(5);
    expect(cluster.written.length).toBeLessThanOrEqual(10);
  });

  it("share 10 writes a second, and each route has its turn", () => {
    const names = Array.from({ length: 300 }, (_, n) => `route-${n}`);
    const cluster = new Cluster(names);
    let waiting = 1;
    const perSecond: number[] = [];
    for (let second = 0; second < 120; second++) {
      const before = cluster.written.length;
      cluster.pass(1, () => ({ waiting: (waiting += 100) }));
      perSecond.push(cluster.written.length - before);
    }
    // The burst that had gathered comes first.
    expect(Math.max(...perSecond)).toBeLessThanOrEqual(10);
    expect(new Set(cluster.written).size).toBe(300);
  });

  it("are not given to the status of a route before they are released, nor of one that is gone", () => {
    const cluster = new Cluster(["orders"]);
    cluster.pass(25, () => ({ waiting: 5 }));
    expect(cluster.reports.of("key of orders")).toBeUndefined();
    cluster.pass(60, () => ({ waiting: 5 }));
    expect(cluster.reports.of("key of orders")).toBeDefined();
    cluster.reports.keepOnly(new Set());
    expect(cluster.reports.of("key of orders")).toBeUndefined();
  });
});
