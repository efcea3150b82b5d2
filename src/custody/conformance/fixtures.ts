import { createHash } from "node:crypto";
import { ulid } from "ulid";
import { test } from "vitest";
import type {
  DedupeMark,
  DestinationPolicy,
  Inbox,
  Ledger,
  NewEvent,
  Outbox,
  RoutePolicy,
  Settle,
  TakenCopy,
} from "../port.ts";
import type { Notices } from "../notices.ts";
import type { Operations } from "../operations.ts";
import type { Shelves } from "../shelves.ts";
import type { Statistics } from "../statistics.ts";

/** One namespace of a store under test. Outboxes of different processes differ in their token. */
export interface ConformanceStore {
  readonly inbox: Inbox;
  readonly ledger: Ledger;
  readonly outbox: (policies: readonly RoutePolicy[]) => Promise<Outbox>;
  /** `page`: records of one atomic step, to test what happens between two. */
  readonly shelves: (page?: number) => Shelves;
  readonly operations: Operations;
  readonly notices: Notices;
  readonly statistics: Statistics;
  /** A round of what workers do unasked: retention, replays until none runs. Returns what operators did since the last one. */
  readonly tend: (
    policies: readonly RoutePolicy[],
  ) => Promise<readonly { readonly what: string; readonly route: string; readonly copies: number }[]>;
  readonly close: () => Promise<void>;
}

export const ROUTE = "00000000000000aa";
export const DESTINATION = `${ROUTE}/orders`;
/** A lease is timeout + 5 s: this one runs out after 100 ms, so that tests need not wait. */
export const SHORT_LEASE_TIMEOUT_MS = -4_900;

const DAY_MS = 86_400_000;
/** A route's policy with the defaults of the API. */
export const routePolicy = (change: Partial<RoutePolicy> = {}): RoutePolicy => ({
  route: ROUTE,
  windowMs: 7 * DAY_MS,
  earlierWindows: [],
  retention: { deliveredMs: 3 * DAY_MS, deadLettersMs: 30 * DAY_MS, maxEvents: 10_000, keepBodies: false },
  ...change,
});

/** A destination's policy. */
export const destinationPolicy = (change: Partial<DestinationPolicy> = {}): DestinationPolicy => ({
  destination: DESTINATION,
  policy: routePolicy(),
  limit: 16,
  timeoutMs: 15_000,
  maxAgeMs: 30 * DAY_MS,
  ...change,
});

/** A strong mark of a delivery id. */
export const mark = (id: string, change: Partial<DedupeMark> = {}): DedupeMark => ({
  key: createHash("sha256").update(id).digest().subarray(0, 16),
  weak: false,
  ...change,
});

/** An event of 7 bytes for one destination, without a mark. */
export const newEvent = (change: Partial<NewEvent> = {}): NewEvent => ({
  id: ulid(),
  policy: routePolicy(),
  mark: undefined,
  headers: { "content-type": "application/json" },
  body: Buffer.from('{"n":1}'),
  seq: 1,
  destinations: [{ destination: DESTINATION, limit: 16 }],
  ...change,
});

/** Takes up to `want` copies in a turn of its own. */
export async function take(outbox: Outbox, policy = destinationPolicy(), want = 16): Promise<readonly TakenCopy[]> {
  const policies = new Map([[policy.destination, policy]]);
  return (await outbox.turn({ settles: [], takes: [{ destination: policy.destination, want }], policies })).copies;
}

/** How a taken copy ended. */
export function settlement(copy: TakenCopy, outcome: Settle["outcome"], change: Partial<Settle> = {}): Settle {
  const action = outcome === "delivered" || outcome === "dead" ? outcome : "retry";
  const { destination, eventId, fence, attempt, now } = copy;
  return {
    destination,
    eventId,
    fence,
    outcome,
    record: { attempt, at: now, status: 200, durationMs: 3, action },
    ...change,
  };
}

/** Settles in a turn of its own; returns the fenced indexes. */
export async function settle(
  outbox: Outbox,
  settles: readonly Settle[],
  policy = destinationPolicy(),
): Promise<readonly number[]> {
  const policies = new Map([[policy.destination, policy]]);
  return (await outbox.turn({ settles, takes: [], policies })).fenced;
}

/** Takes exactly one copy. */
export async function takeOne(outbox: Outbox, policy = destinationPolicy()): Promise<TakenCopy> {
  const [copy, ...others] = await take(outbox, policy);
  if (copy === undefined || others.length > 0)
    throw new Error(`expected one copy, got ${others.length + (copy ? 1 : 0)}`);
  return copy;
}

/** Opens a namespace of its own for a test. */
export type Open = () => Promise<ConformanceStore>;

/** `test` with a store that is closed afterwards. */
export const storeTest =
  (open: Open) =>
  (name: string, body: (store: ConformanceStore) => Promise<void>): void => {
    // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- the caller's sentence and assertions
    test(name, async () => {
      const store = await open();
      try {
        await body(store);
      } finally {
        await store.close();
      }
    });
  };
