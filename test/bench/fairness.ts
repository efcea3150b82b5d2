import type { TestRedis } from "../support/redis.ts";
import { benchMemory, type MemoryResult } from "./fairness/memory.ts";
import { benchOthers, type OthersResult, SLOW } from "./fairness/others.ts";
import { benchParked, type ParkedResult } from "./fairness/parked.ts";
import { type Group, idsOf } from "./fairness/plan.ts";
import { Stage } from "./fairness/stage.ts";
import { benchSides, type Rates } from "./fairness/throughput.ts";

/** How much of everything. */
export interface FairnessSizes {
  readonly rounds: number;
  /** Events of the slow destination that are queued first, and wait when it is held or disabled. */
  readonly backlog: number;
  /** How long the others send in each round, s. */
  readonly othersSeconds: number;
  /** How long commands are counted, s. */
  readonly parkedSeconds: number;
  /** Events of each round with and without gate. */
  readonly gatedEvents: number;
  /** Destinations of the digest, and events of the one it is compared with. */
  readonly digest: number;
  /** Events whose memory is measured. */
  readonly memoryEvents: number;
}

/** What the targets are about. */
export const FULL: FairnessSizes = {
  rounds: 3,
  backlog: 100_000,
  othersSeconds: 8,
  parkedSeconds: 10,
  gatedEvents: 20_000,
  digest: 10_000,
  memoryEvents: 1_000,
};

/** To see that everything runs: its figures say little. */
export const QUICK: FairnessSizes = {
  rounds: 1,
  backlog: 5_000,
  othersSeconds: 3,
  parkedSeconds: 4,
  gatedEvents: 4_000,
  digest: 2_000,
  memoryEvents: 200,
};

export interface FairnessResult {
  readonly others: OthersResult;
  readonly parked: ParkedResult;
  readonly gates: Rates<"on" | "off">;
  readonly digest: Rates<"many" | "one">;
  readonly memory: MemoryResult;
}

const ONE: Group = { name: "sink", count: 1, concurrency: 64, gated: true };
const CROWDED = "crowded";

/** All parts, one after the other. `tell` hears what begins. */
export async function benchFairness(
  redis: TestRedis,
  sizes: FairnessSizes,
  tell: (what: string) => void = () => undefined,
): Promise<FairnessResult> {
  const { rounds, backlog, gatedEvents, digest } = sizes;
  const { others, parked } = await Stage.run(redis, async (stage) => {
    tell(`${backlog} events of one slow destination are queued`);
    await stage.queue(CROWDED, backlog, () => idsOf(SLOW));
    tell("other destinations beside it");
    const beside = await benchOthers(stage, CROWDED, { rounds, seconds: sizes.othersSeconds });
    tell("its events wait");
    return { others: beside, parked: await benchParked(stage, CROWDED, sizes.parkedSeconds) };
  });
  tell("with gate and without");
  const gates = await benchSides(
    redis,
    { on: { group: ONE, events: gatedEvents }, off: { group: { ...ONE, gated: false }, events: gatedEvents } },
    rounds,
  );
  tell("a digest");
  const many: Group = { name: "customer", count: digest, concurrency: 1, gated: true };
  const sides = { many: { group: many, events: digest }, one: { group: ONE, events: digest } };
  const digests = await benchSides(redis, sides, rounds);
  tell("memory");
  return { others, parked, gates, digest: digests, memory: await benchMemory(redis, sizes.memoryEvents) };
}
