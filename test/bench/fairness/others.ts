import { setTimeout as sleep } from "node:timers/promises";
import type { Inbox } from "../../../src/custody/port.ts";
import { percentile } from "../statistics.ts";
import { type Group, idsOf, planPolicy } from "./plan.ts";
import { benchEvent } from "./queue.ts";
import type { Stage } from "./stage.ts";

/** The one that answers after a second, and could take every request slot of a worker but for its own limit. */
export const SLOW: Group = { name: "slow", count: 1, concurrency: 64, gated: true };
const OTHERS: Group = { name: "other", count: 100, concurrency: 16, gated: true };
const EVENTS_PER_SECOND = 400;
/** The worker has found its way by then: ms. */
const SETTLED_MS = 3_000;

/** p99 of the others' delivery latency in each round, ms. */
export interface OthersResult {
  readonly alone: readonly number[];
  readonly besideSlow: readonly number[];
}

/** Claims the others' events at a steady rate, whatever becomes of them. */
async function trickle(inbox: Inbox, events: number): Promise<void> {
  const policy = planPolicy();
  const ids = idsOf(OTHERS);
  const claims: Promise<unknown>[] = [];
  const from = performance.now();
  while (claims.length < events) {
    const due = Math.min(events, Math.ceil(((performance.now() - from) * EVENTS_PER_SECOND) / 1_000));
    while (claims.length < due) claims.push(inbox.claim(benchEvent(policy, [ids[claims.length % ids.length] ?? ""])));
    await sleep(2);
  }
  await Promise.all(claims);
}

async function p99Ms(stage: Stage, namespace: string, events: number): Promise<number> {
  const worker = await stage.worker(namespace, [SLOW, OTHERS]);
  try {
    await worker.ask("start");
    await sleep(SETTLED_MS);
    const arrived = stage.arrived(OTHERS, events);
    await trickle(stage.inbox(namespace), events);
    const { latencies } = await arrived;
    return percentile(
      latencies.toSorted((a, b) => a - b),
      0.99,
    );
  } finally {
    await worker.ask("stop");
    await worker.stop();
  }
}

/**
 * The others in a namespace of their own and beside the slow destination in turn, several times over.
 * @param crowded namespace in which the slow destination's events are queued
 */
export async function benchOthers(
  stage: Stage,
  crowded: string,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<OthersResult> {
  const result = { alone: [] as number[], besideSlow: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    result.alone.push(await p99Ms(stage, "alone", seconds * EVENTS_PER_SECOND));
    result.besideSlow.push(await p99Ms(stage, crowded, seconds * EVENTS_PER_SECOND));
  }
  return result;
}
