import { randomUUID } from "node:crypto";
import { monotonicUlids } from "../../lib/ulid.ts";
import type { DestinationPolicy, NewEvent, RoutePolicy, Settle, TakenCopy } from "../port.ts";
import type { CustodyClient, RedisUrl } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { RedisInbox } from "./inbox.ts";
import { Janitor } from "./janitor.ts";
import { RedisLedger } from "./ledger.ts";
import { RedisNotices } from "./notices.ts";
import { RedisOperations } from "./operations.ts";
import { RedisOutbox } from "./outbox.ts";
import { replayId } from "./replays.ts";
import { RedisStatistics } from "./statistics.ts";
import { TicketSource } from "./tickets.ts";

const ROUTE = "00000000000000ff";
const DESTINATION = `${ROUTE}/selftest`;
const POLICY: RoutePolicy = {
  route: ROUTE,
  windowMs: 60_000,
  earlierWindows: [],
  retention: { deliveredMs: 60_000, deadLettersMs: 60_000, maxEvents: 10, keepBodies: false },
};
const DESTINATION_POLICY: DestinationPolicy = {
  destination: DESTINATION,
  policy: POLICY,
  limit: 1,
  timeoutMs: 1_000,
  maxAgeMs: 60_000,
  gate: { seq: 1, rate: { requests: 100, perMs: 1_000, burst: 100 } },
};

/**
 * Runs every script once on scratch keys under the given tag and removes them, so that a user who lacks a command learns it at start and not in
 * the middle of a delivery.
 *
 * @throws CustodyError, `Denied` when the user's rules lack something; its cause is Redis's own words
 */
export async function selfTest(redis: CustodyClient, url: RedisUrl, tag: string): Promise<void> {
  const scratch = `${tag}:selftest-${randomUUID()}`;
  const janitor = new Janitor(redis, scratch, { policies: () => [POLICY] });
  const tickets = new TicketSource({ url, tag: scratch, redis, janitor });
  const outbox = new RedisOutbox(redis, scratch, "selftest", tickets);
  const ledger = new RedisLedger(redis, scratch);
  const event = scratchEvent();
  const policies = new Map([[DESTINATION, DESTINATION_POLICY]]);
  const turn = async (settles: readonly Settle[], want: number) =>
    (await outbox.turn({ settles, takes: [{ destination: DESTINATION, want }], policies })).copies;
  try {
    await new RedisInbox(redis, scratch).claim(event);
    await turn(
      (await turn([], 1)).map((copy) => outcomeOf(copy, "dead")),
      0,
    );
    await operate(new RedisOperations(redis, scratch), janitor, event.id);
    await ledger.replay(event.id);
    await turn(
      (await turn([], 1)).map((copy) => outcomeOf(copy, "delivered")),
      0,
    );
    await outbox.done({ destination: DESTINATION, generation: 0, slot: 0 }, DESTINATION_POLICY);
    await ledger.hold(DESTINATION, 0);
    await ledger.enable(DESTINATION);
    await ledger.gates([DESTINATION]);
    await readNotices(new RedisNotices(redis, scratch));
    await janitor.pass();
    await ledger.stats([DESTINATION]);
    await ledger.sharedBacklogs({ limit: 1 });
    const statistics = new RedisStatistics(redis, scratch);
    await statistics.of([DESTINATION]);
    await statistics.list({ limit: 1 });
  } catch (error) {
    throw asCustodyError(error);
  } finally {
    await redis.unlink(...scratchKeys(scratch, event.id)).catch(() => 0);
  }
}

/** Idempotency key of the scratch replay, and the id that it gives. */
const REPLAY_KEY = "selftest";

/** Nobody is told of scratch destinations: there is nothing to hand out. */
async function readNotices(notices: RedisNotices): Promise<void> {
  await notices.take("events", 1, 0);
  await notices.postpone("events", "1", 0);
  await notices.settle("events", ["1"]);
}

/** Every script of the operations, over an event that is dead before and after. */
async function operate(operations: RedisOperations, janitor: Janitor, eventId: string): Promise<void> {
  await operations.eventsAfter({ route: ROUTE, limit: 1 });
  await operations.deadLetters({ limit: 1 });
  await operations.discard({ eventId });
  await operations.restore({ eventId });
  // Of another route: nothing is made live.
  const { replay } = await operations.startReplay({ filter: { route: "0" }, key: REPLAY_KEY });
  await operations.steerReplay(replay.id, "paused");
  await operations.steerReplay(replay.id, "running");
  await janitor.advanceReplays();
}

function scratchEvent(): NewEvent {
  return {
    id: monotonicUlids()(Date.now()),
    policy: POLICY,
    mark: { key: Buffer.alloc(16), weak: false },
    headers: {},
    body: Buffer.from("selftest"),
    seq: 1,
    destinations: [{ destination: DESTINATION, limit: 1 }],
  };
}

function outcomeOf({ destination, eventId, fence, attempt, now }: TakenCopy, outcome: "dead" | "delivered"): Settle {
  return { destination, eventId, fence, outcome, record: { attempt, at: now, action: outcome } };
}

/** Every key the scripts above may have made. Named one by one: workers may not scan. */
function scratchKeys(scratch: string, id: string): string[] {
  const bucket = Math.floor(Date.now() / POLICY.windowMs);
  const day = Math.floor(Date.now() / 86_400_000);
  return [
    "live",
    "busy",
    "exp",
    "dead",
    "janitor",
    "routes",
    "bin",
    "replays",
    "replaying",
    "replay-lease",
    "tally",
    "notices",
    "notices:events",
    "notice-readers",
    "notice-tries",
    "notice-wait",
    "destinations",
    `replay:${replayId(REPLAY_KEY)}`,
    `e:${id}`,
    ...["route", "log", "dead"].map((name) => `${name}:${ROUTE}`),
    ...["lane", "late", "due", "lease", "gate", "dead"].map((name) => `${name}:${DESTINATION}`),
    ...[day - 1, day, day + 1].map((number) => `hours:${number}:${DESTINATION}`),
    ...[bucket - 1, bucket, bucket + 1].map((number) => `seen:${POLICY.windowMs}:${number}`),
  ].map((name) => `${scratch}:${name}`);
}
