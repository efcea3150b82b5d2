import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { ulid } from "ulid";
import { afterEach, describe, expect, test } from "vitest";
import type { EventView, Inbox, Ledger } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { startRedis } from "../support/redis.ts";
import { seeded } from "../support/seeded.ts";
import { type Receiver, startReceiver } from "../support/shared/receiver.ts";
import {
  GATES,
  ROUTES,
  type SharedSettings,
  sharedDestinations,
  STEPS,
  type Trap,
} from "../support/shared/settings.ts";

const DESTINATIONS = Object.entries(GATES).map(([destination, { limit }]) => ({ destination, limit }));
const LIMITS = new Map(DESTINATIONS.map(({ destination, limit }) => [destination, limit]));
const CHAOS_MS = 16_000;
/** Should its trap not have closed by then, it gets its signal from outside. */
const LONGEST_LIFE_MS = 5_000;

/** A worker that is started again whenever it is gone, each time with another trap, which kills it and stops it by turns. */
class Mortal {
  readonly #settings: SharedSettings;
  readonly #random: () => number;
  #signal: Trap["signal"];
  #child: ChildProcess | undefined;
  deaths = 0;
  stops = 0;

  constructor(settings: SharedSettings, first: Trap["signal"], random: () => number) {
    this.#settings = settings;
    this.#signal = first;
    this.#random = random;
  }

  /** Lives and dies until the time is over, then lives on without a trap. */
  async live(untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      const trap = this.#nextTrap();
      const child = this.#start(trap);
      const gone = once(child, "exit");
      const trapped = await Promise.race([gone, once(child, "message"), sleep(LONGEST_LIFE_MS)]);
      if (trapped === undefined) child.kill(trap.signal);
      if (trap.signal === "SIGSTOP") await this.#rest(child, gone);
      child.kill("SIGKILL");
      await gone;
      this.deaths += 1;
      await sleep(this.#random() * 400);
    }
    this.#start(undefined);
  }

  end(): void {
    this.#child?.kill("SIGKILL");
  }

  /** Stands still, then goes on for a while. */
  async #rest(child: ChildProcess, gone: Promise<unknown>): Promise<void> {
    this.stops += 1;
    await sleep(200 + this.#random() * 3_500);
    child.kill("SIGCONT");
    await Promise.race([gone, sleep(this.#random() * 3_000)]);
  }

  #nextTrap(): Trap {
    const step = STEPS[Math.floor(this.#random() * STEPS.length)] ?? "written";
    const signal = this.#signal;
    this.#signal = signal === "SIGKILL" ? "SIGSTOP" : "SIGKILL";
    return { step, nth: 1 + Math.floor(this.#random() * 6), signal };
  }

  #start(trap: Trap | undefined): ChildProcess {
    const settings = { ...this.#settings, ...(trap && { trap }) };
    this.#child = fork(new URL("../support/shared/worker-process.ts", import.meta.url), {
      env: { ...process.env, SHARED: JSON.stringify(settings) },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    return this.#child;
  }
}

/** More requests at a time than the limit, none of which is one whose outcome the store calls unknown. */
function unexplained({ overlaps }: Receiver, views: ReadonlyMap<string, EventView>) {
  return overlaps.filter(({ destination, running }) => {
    const isUnknown = running.some(({ event, attempt }) => {
      const copy = views.get(event)?.copies.find((one) => one.destination === destination);
      return copy?.attempts.some((one) => one.attempt === attempt && one.action === "unknown");
    });
    return !isUnknown;
  });
}

function mostWithin(times: readonly number[], ms: number): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));
}

/** The events whose copies are all delivered, at the latest after `ms`. */
async function drained(ledger: Ledger, ids: readonly string[], ms: number): Promise<Map<string, EventView>> {
  const views = new Map<string, EventView>();
  for (const end = performance.now() + ms; views.size < ids.length && performance.now() < end; await sleep(200)) {
    for (const id of ids) {
      if (views.has(id)) continue;
      const view = await ledger.event(id);
      if (view?.copies.every(({ state }) => state === "delivered")) views.set(id, view);
    }
  }
  return views;
}

/** Events of all routes, one after the other, until the time is over; for a while of it the receiver is ill. Returns their ids. */
async function send(inbox: Inbox, receiver: Receiver, { endsAt, random }: { endsAt: number; random: () => number }) {
  const ids: string[] = [];
  for (let now = performance.now(); now < endsAt; now = performance.now()) {
    const policy = ROUTES[ids.length % ROUTES.length];
    if (policy === undefined) break;
    const id = ulid();
    const event = { id, policy, mark: undefined, headers: {}, body: Buffer.from("{}"), seq: 1 };
    await inbox.claim({ ...event, destinations: DESTINATIONS });
    ids.push(id);
    receiver.ill = now > endsAt - 9_000 && now < endsAt - 6_000;
    await sleep(40 + random() * 60);
  }
  return ids;
}

describe("destinations that three routes share", () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  const seed = Number(process.env["DAVIT_TEST_SEED"] ?? 20_261_201);

  /** Three workers that live and die for a while, and then drain. */
  async function run() {
    const random = seeded(seed);
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const receiver = await startReceiver(LIMITS, random);
    cleanups.push(() => receiver.close());
    const scope = { instance: "default", namespace: randomUUID() };
    const store = new RedisStore({ url: redis.url });
    await store.start();
    cleanups.push(() => store.close());
    const settings: SharedSettings = { redisUrl: redis.url, namespace: scope.namespace, url: receiver.url };
    const workers = (["SIGKILL", "SIGSTOP", "SIGSTOP"] as const).map((first) => new Mortal(settings, first, random));
    cleanups.push(() => {
      for (const worker of workers) worker.end();
    });
    const policies = new Map([...sharedDestinations(receiver.url, false)].map(([id, { policy }]) => [id, policy]));
    const takes = [...policies.keys()].map((destination) => ({ destination, want: 0 }));
    await store.outbox(scope, { policies: () => ROUTES }).turn({ settles: [], takes, policies });
    const endsAt = performance.now() + CHAOS_MS;
    const lives = workers.map((worker) => worker.live(endsAt));
    const ids = await send(store.inbox(scope), receiver, { endsAt, random });
    await Promise.all(lives);
    const ledger = store.ledger(scope);
    const views = await drained(ledger, ids, 40_000);
    return { receiver, workers, ids, views, gate: await ledger.gate("~moody") };
  }

  test("never get more than limit and rate from three workers that are killed and stopped at random steps, and lose nothing", {
    timeout: 120_000,
  }, async () => {
    const { receiver, workers, ids, views, gate } = await run();
    expect(ids.length - views.size, `events that are not delivered, seed ${seed}`).toBe(0);
    const sent = ids.flatMap((id) => DESTINATIONS.map(({ destination }) => `${destination} ${id}`));
    expect(sent.filter((one) => !receiver.taken.has(one))).toEqual([]);
    expect(unexplained(receiver, views), `seed ${seed}`).toEqual([]);
    const { rate } = GATES["~paced"]?.gate ?? {};
    // A stopped worker may write late what it took in time.
    const most = (rate?.requests ?? 0) + (rate?.burst ?? 0) + 3 * 2;
    expect(mostWithin(receiver.times.get("~paced") ?? [], 1_000), `seed ${seed}`).toBeLessThanOrEqual(most);
    expect(gate.state, `seed ${seed}`).toBe("Closed");
    expect(gate.generation, "it was held or opened, and came back").toBeGreaterThanOrEqual(3);
    const sum = (of: "deaths" | "stops") => workers.reduce((all, worker) => all + worker[of], 0);
    const happened = [sum("deaths"), sum("stops"), receiver.kinds.get("hanging") ?? 0];
    expect(
      Math.min(...happened),
      `seed ${seed}: killed, stopped, hanging ${happened.join(", ")} times`,
    ).toBeGreaterThan(0);
  });
});
