import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ulid } from "ulid";
import { afterEach, describe, expect, test, vi } from "vitest";
import { mark } from "../../src/custody/conformance/fixtures.ts";
import {
  type AttemptRecord,
  type CopyView,
  CustodyError,
  type EventView,
  type Inbox,
  type Ledger,
} from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { Lives } from "../support/mixed/lives.ts";
import { type Overlap, type Receivers, type Request, startReceivers } from "../support/mixed/receivers.ts";
import {
  asConfigured,
  LEASE_MS,
  type Mixed,
  mixedDestinations,
  type MixedSettings,
  type Temper,
  TEMPERS,
} from "../support/mixed/settings.ts";
import { startRedis } from "../support/redis.ts";
import { seeded } from "../support/seeded.ts";
import { ROUTES } from "../support/shared/settings.ts";

// A run can be repeated with DAVIT_TEST_SEED, and made longer with DAVIT_TEST_MIXED_SECONDS: for so long workers are killed and stopped, while 8 events
// a second come in.
const SEED = Number(process.env["DAVIT_TEST_SEED"] ?? 20_261_130);
const CHAOS_MS = Number(process.env["DAVIT_TEST_MIXED_SECONDS"] ?? 24) * 1_000;
const EVENTS = Math.round(CHAOS_MS / 125);
/** Those that can recover do so after this. */
const ILL_MS = CHAOS_MS * 0.7;
/** Reached only when something does not drain. */
const DRAIN_MS = 180_000 + 2 * CHAOS_MS;
const WORKERS = 3;
/** Copies of an event for destinations that the routes share, and for its own route's inline ones. */
const COPIES = { shared: 8, inline: 2 };
/** A log keeps 50 attempts of a copy: those that recover late must not need more. */
const RETRY_MS = Math.max(500, ILL_MS / 40);

const DESTINATIONS = mixedDestinations();
const BY_ID = new Map(DESTINATIONS.map((destination) => [destination.id, destination]));
const temperOf = (id: string): Temper => TEMPERS[BY_ID.get(id)?.temper ?? "fast"];

/** What is known when all is over. */
interface Run {
  readonly receivers: Receivers;
  readonly ledger: Ledger;
  readonly views: readonly EventView[];
  readonly lives: readonly Lives[];
}

/** Each destination in its turn, in an order that changes; troubled ones half as often. */
function deck(destinations: readonly Mixed[], random: () => number): (count: number) => Mixed[] {
  const full = destinations.flatMap((one) => (TEMPERS[one.temper].ends === "delivered" ? [one, one] : [one]));
  let left: Mixed[] = [];
  return (count) => {
    const drawn = new Set<Mixed>();
    while (drawn.size < count) {
      if (left.length === 0) left = [...full];
      const [one] = left.splice(Math.floor(random() * left.length), 1);
      if (one !== undefined) drawn.add(one);
    }
    return [...drawn];
  };
}

/** A busy machine may keep Redis from answering in time: whoever is not killed asks again. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof CustodyError)) throw error;
      await sleep(100);
    }
  }
}

/** Events of the three routes, spread over the time. Returns their ids. */
async function send(inbox: Inbox, random: () => number): Promise<string[]> {
  const shared = deck(
    DESTINATIONS.filter(({ route }) => route === undefined),
    random,
  );
  const inline = ROUTES.map((_, place) =>
    deck(
      DESTINATIONS.filter(({ route }) => route === place),
      random,
    ),
  );
  const ids: string[] = [];
  const began = performance.now();
  for (let n = 0; n < EVENTS; n++) {
    const place = n % ROUTES.length;
    const policy = ROUTES[place];
    if (policy === undefined) break;
    const chosen = [...shared(COPIES.shared), ...(inline[place]?.(COPIES.inline) ?? [])];
    const destinations = chosen.map(({ id, limit }) => ({ destination: id, limit }));
    const id = ulid();
    const event = { id, policy, mark: mark(id), headers: {}, body: Buffer.from("{}"), seq: 1, destinations };
    await patiently(() => inbox.claim(event));
    ids.push(id);
    await sleep(Math.max(0, began + ((n + 1) * CHAOS_MS) / EVENTS - performance.now()));
  }
  return ids;
}

const LIVE: ReadonlySet<string> = new Set(["waiting", "active", "delayed"]);
const hasEnded = ({ destination, state }: CopyView): boolean =>
  temperOf(destination).ends === "kept" ? state !== "active" : !LIVE.has(state);

/** All events, once each of their copies is where it is to end, or the time is over. */
async function drained(ledger: Ledger, ids: readonly string[]): Promise<EventView[]> {
  const ended = new Map<string, EventView>();
  const all = new Map<string, EventView>();
  for (const end = performance.now() + DRAIN_MS; ended.size < ids.length && performance.now() < end; await sleep(500)) {
    for (const id of ids.filter((one) => !ended.has(one))) {
      const view = await patiently(() => ledger.event(id));
      if (view === undefined) continue;
      all.set(id, view);
      if (view.copies.every(hasEnded)) ended.set(id, view);
    }
  }
  return [...all.values()];
}

/** How the log of a copy can end, by how its receiver behaves. A worker that was lost five times in a row ends any. */
function hasItsEnd({ destination, state, attempts }: CopyView): boolean {
  const last = attempts.at(-1);
  const { ends } = temperOf(destination);
  if (state === "dead" && last?.reason === "WorkerLost") return true;
  if (ends === "kept") return state === "waiting" || state === "delayed" || last?.reason === "Status410";
  if (state !== ends) return false;
  return state === "delivered" || ["AttemptsExhausted", "Status404"].includes(last?.reason ?? "");
}

/** A request whose worker was lost, or did not speak before its lease had run out: then the limit may be passed by it. */
function isUnknown(copies: ReadonlyMap<string, CopyView>, { destination, event, attempt }: Request): boolean {
  const record = copies.get(`${destination} ${event}`)?.attempts.find((one) => one.attempt === attempt);
  return record?.action === "unknown" || (record?.durationMs ?? 0) > LEASE_MS;
}

/** More at a time than the limit, without those that the log calls unknown. */
function unexplained(overlaps: readonly Overlap[], copies: ReadonlyMap<string, CopyView>): Overlap[] {
  return overlaps.filter(({ destination, running }) => {
    const known = running.filter((one) => !isUnknown(copies, one));
    return known.length > (BY_ID.get(destination)?.limit ?? 0);
  });
}

/** Attempts whose next one came earlier than its log says it must. */
function tooEarly({ attempts }: CopyView): AttemptRecord[] {
  return attempts.filter(({ action, at, delayMs = 0 }, place) => {
    const next = attempts[place + 1];
    return action === "retry" && next !== undefined && next.at < at + delayMs;
  });
}

describe("200 destinations of every temper, three worker processes that are killed and stopped", () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function run(): Promise<Run> {
    const random = seeded(SEED);
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const receivers = await startReceivers(DESTINATIONS, random);
    cleanups.push(() => receivers.close());
    const scope = { instance: "default", namespace: randomUUID() };
    const store = new RedisStore({ url: redis.url });
    await store.start();
    cleanups.push(() => store.close());
    const settings: MixedSettings = {
      redisUrl: redis.url,
      namespace: scope.namespace,
      retryMs: RETRY_MS,
      destinations: DESTINATIONS.map((one) => ({ ...one, url: receivers.urls.get(one.id) ?? "" })),
    };
    await configure(store.outbox(scope, { policies: () => ROUTES }), settings);
    const program = new URL("../support/mixed/worker-process.ts", import.meta.url);
    const lives = Array.from(
      { length: WORKERS },
      () => new Lives(program, { MIXED: JSON.stringify(settings) }, random),
    );
    cleanups.push(() => {
      for (const life of lives) life.end();
    });
    await Promise.all(lives.map((life) => life.start()));
    setTimeout(() => (receivers.ill = false), ILL_MS);
    const endsAt = performance.now() + CHAOS_MS;
    const living = lives.map((life) => life.live(endsAt));
    const ids = await send(store.inbox(scope), random);
    await Promise.all(living);
    const ledger = store.ledger(scope);
    const views = await drained(ledger, ids);
    return { receivers, ledger, views, lives };
  }

  /** The store gets the newest config of all gates before any worker comes with an older one. */
  async function configure(outbox: ReturnType<RedisStore["outbox"]>, settings: MixedSettings): Promise<void> {
    const all = [...asConfigured(settings, false)];
    for (let i = 0; i < all.length; i += 64) {
      const page = all.slice(i, i + 64);
      const policies = new Map(page.map(([id, { policy }]) => [id, policy]));
      await outbox.turn({ settles: [], takes: page.map(([destination]) => ({ destination, want: 0 })), policies });
    }
  }

  test("keep every limit, lose nothing, make no hot loop, and drain what recovers without help", {
    timeout: 300_000 + 4 * CHAOS_MS,
  }, async () => {
    process.stdout.write(`mixed destinations: DAVIT_TEST_SEED=${SEED}, ${EVENTS} events\n`);
    const { receivers, ledger, views, lives } = await run();
    const copies = byKey(views);
    const all = [...copies];

    // Nothing is lost: each event has each of its copies, at the end its receiver allows.
    expect(views.length, `seed ${SEED}`).toBe(EVENTS);
    expect(copies.size, `seed ${SEED}`).toBe(EVENTS * (COPIES.shared + COPIES.inline));
    expect(all.filter(([, copy]) => !hasItsEnd(copy)).map(told), `seed ${SEED}`).toEqual([]);
    const seen = new Set(receivers.requests.filter(({ status }) => status === 200).map(keyOf));
    expect(all.filter(([key, { state }]) => state === "delivered" && !seen.has(key)).map(told), `seed ${SEED}`).toEqual(
      [],
    );

    // No limit was passed but by requests whose outcome the log calls unknown.
    expect(unexplained(receivers.overlaps, copies), `seed ${SEED}`).toEqual([]);

    // No hot loop, no second live copy: each attempt of the log went out once at most, when its time had come, and none after the end.
    const once = new Set(receivers.requests.map((one) => `${keyOf(one)} ${one.attempt}`));
    expect(once.size, `seed ${SEED}`).toBe(receivers.requests.length);
    const beyond = receivers.requests.filter((one) => one.attempt > lastAttempt(copies.get(keyOf(one))));
    expect(beyond, `seed ${SEED}`).toEqual([]);
    expect(
      all.flatMap(([, copy]) => tooEarly(copy)),
      `seed ${SEED}`,
    ).toEqual([]);
    expect(all.filter(([, { attempts }]) => attempts.slice(0, -1).some(isFinal)).map(told), `seed ${SEED}`).toEqual([]);
    expect(all.filter(([, copy]) => counted(copy) > budgetOf(copy)).map(told), `seed ${SEED}`).toEqual([]);

    // It was a run like that: each worker died and stood still, and somebody's outcome was never known.
    expect(
      lives.filter(({ kills, stops }) => kills === 0 || stops === 0),
      `seed ${SEED}`,
    ).toEqual([]);
    expect(
      all.some(([, { attempts }]) => attempts.some(({ action }) => action === "unknown")),
      `seed ${SEED}`,
    ).toBe(true);
    await keptAreThere(ledger, views, receivers);
  });

  /** What is held and disabled lies where it was, and goes on when somebody enables it: all but those whose own time has not come. */
  async function keptAreThere(ledger: Ledger, views: readonly EventView[], receivers: Receivers): Promise<void> {
    const kept = [...byKey(views)].filter(([, { destination, state }]) => isKept(destination) && LIVE.has(state));
    const ids = DESTINATIONS.map(({ id }) => id).filter(isKept);
    const stats = await patiently(() => ledger.stats(ids));
    let held = 0;
    for (const { waiting, delayed } of stats.values()) held += waiting + delayed;
    expect(held).toBe(kept.length);
    for (const id of ids) {
      const gate = await patiently(() => ledger.gate(id));
      expect(`${id} ${gate.state}`).toBe(`${id} ${BY_ID.get(id)?.temper === "gone" ? "Disabled" : "Held"}`);
    }
    receivers.allWell = true;
    for (const id of ids) await patiently(() => ledger.enable(id));
    const hinted = kept.filter(([, { attempts }]) => attempts.at(-1)?.delaySource === "retry_after");
    const due = kept.filter((one) => !hinted.includes(one)).map(([key]) => key);
    expect([hinted.length > 0, due.length > 0]).toEqual([true, true]);
    const stateOf = async (key: string): Promise<string | undefined> => {
      const [destination, id = ""] = key.split(" ");
      const view = await patiently(() => ledger.event(id));
      return view?.copies.find((copy) => copy.destination === destination)?.state;
    };
    await vi.waitFor(async () => expect(new Set(await Promise.all(due.map(stateOf)))).toEqual(new Set(["delivered"])), {
      timeout: 60_000,
      interval: 500,
    });
    const week = Date.now() + 6 * 86_400_000;
    expect(hinted.filter(([, { dueAt = 0 }]) => dueAt < week).map(told)).toEqual([]);
    expect(new Set(await Promise.all(hinted.map(([key]) => stateOf(key))))).toEqual(new Set(["delayed"]));
  }
});

const isKept = (id: string): boolean => temperOf(id).ends === "kept";
const keyOf = ({ destination, event }: Request): string => `${destination} ${event}`;
/** Copies by destination and event. */
const byKey = (views: readonly EventView[]): Map<string, CopyView> =>
  new Map(views.flatMap(({ id, copies }) => copies.map((copy) => [`${copy.destination} ${id}`, copy] as const)));
const lastAttempt = (copy: CopyView | undefined): number => copy?.attempts.at(-1)?.attempt ?? 0;
/** Attempts that a copy may have whose outcome is known. */
function budgetOf({ destination }: CopyView): number {
  return temperOf(destination).ends === "dead" ? 2 : Infinity;
}
/** A copy in one line, for a failing test. */
const told = ([key, { state, attempts }]: readonly [string, CopyView]): string =>
  `${key} ${state}: ${attempts.map(({ action, status, error, reason }) => [action, status, error, reason].join(" ")).join(", ")}`;
const isFinal = ({ action }: AttemptRecord): boolean => action === "delivered" || action === "dead";
/** Attempts that count against the budget: each that was sent, as far as anybody knows. */
const counted = ({ attempts }: CopyView): number => attempts.filter(({ action }) => action !== "unknown").length;
