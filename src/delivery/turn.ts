import type { DestinationPolicy, TurnRequest } from "../custody/port.ts";
import type { Lane, PendingSettle } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import { allocate, BATCH, slowBudget } from "./scheduler.ts";

/** A request to the store with what has to be known when its answer comes, or does not. */
export interface Turn {
  readonly request: TurnRequest;
  /** In the order of `request.settles`. */
  readonly settles: readonly PendingSettle[];
  /** Lanes in `request.takes` and the copies wanted of each. */
  readonly wants: ReadonlyMap<Lane, number>;
  readonly started: ReadonlyMap<Lane, number>;
  readonly lanes: ReadonlySet<Lane>;
}

export interface TurnOptions {
  /** Request slots of the process. */
  readonly slots: number;
  /** Monotonic ms. */
  readonly now: number;
  /** `false` while stopping. */
  readonly take: boolean;
  /** Lanes that may be part of it. */
  readonly admits: (lane: Lane) => boolean;
}

/** Collects outcomes and wishes into one request. @returns `undefined` when there is nothing to say */
export function buildTurn(lanes: Lanes, options: TurnOptions): Turn | undefined {
  const settles = collectSettles(lanes, options);
  const wants = options.take ? collectTakes(lanes, options) : new Map<Lane, number>();
  collectBeats(lanes, options, wants);
  const adopted = [...lanes.adopting].filter((lane) => options.admits(lane)).slice(0, BATCH);
  const involved = new Set<Lane>([...wants.keys(), ...adopted, ...settles.map((pending) => pending.running.lane)]);
  if (involved.size === 0) return undefined;

  const policies = new Map<string, DestinationPolicy>();
  for (const lane of involved) {
    policies.set(lane.id, lane.policy);
    lane.lastTurnAt = options.now;
  }
  lanes.depart(involved, wants);
  const started = startedGenerations(wants);
  const request = {
    settles: settles.map((pending) => pending.settle),
    takes: [...wants].map(([lane, want]) => takeOf(lane, want, started.get(lane))),
    policies,
  };
  const adopt = adopted.length === 0 ? undefined : adoptList(adopted, settles);
  return { request: adopt === undefined ? request : { ...request, adopt }, settles, wants, started, lanes: involved };
}

function takeOf(lane: Lane, want: number, started: number | undefined): TurnRequest["takes"][number] {
  if (want > 0) lane.hinted = false;
  return started === undefined ? { destination: lane.id, want } : { destination: lane.id, want, started };
}

/** One a destination: further tickets of it make their first turn in the next one. */
function startedGenerations(wants: ReadonlyMap<Lane, number>): Map<Lane, number> {
  const started = new Map<Lane, number>();
  for (const lane of wants.keys()) {
    const generation = lane.newGenerations.shift();
    if (generation !== undefined) started.set(lane, generation);
  }
  return started;
}

function collectBeats(lanes: Lanes, options: TurnOptions, wants: Map<Lane, number>): void {
  for (const lane of lanes.beating) {
    if (wants.size >= BATCH) return;
    if (!options.admits(lane)) continue;
    lanes.beating.delete(lane);
    if (!wants.has(lane)) wants.set(lane, 0);
  }
}

function collectSettles(lanes: Lanes, options: TurnOptions): PendingSettle[] {
  const settles: PendingSettle[] = [];
  for (const lane of lanes.dirty) {
    if (settles.length >= BATCH) break;
    if (options.admits(lane)) settles.push(...lanes.takeSettles(lane, BATCH - settles.length));
  }
  return settles;
}

function collectTakes(lanes: Lanes, options: TurnOptions): Map<Lane, number> {
  const free = options.slots - lanes.held - lanes.expected;
  const shares = allocate(hungryLanes(lanes, options), { free, freeForSlow: freeForSlow(lanes, options) });
  for (const lane of shares.keys()) {
    lanes.hungry.delete(lane);
    lanes.hungry.add(lane);
  }
  return shares;
}

/** A lane without room leaves; the outcome that makes room brings it back. One that finds no slot stays. */
function* hungryLanes(lanes: Lanes, options: TurnOptions): Generator<Lane> {
  for (const lane of lanes.hungry) {
    if (!options.admits(lane)) continue;
    if (lane.room < 1) lanes.hungry.delete(lane);
    else yield lane;
  }
}

function freeForSlow(lanes: Lanes, options: TurnOptions): number {
  // So few are in use that even with this turn nobody can hold more than half.
  if (lanes.held + lanes.expected + BATCH <= options.slots / 2) return BATCH;
  let heldBySlow = 0;
  for (const lane of lanes) {
    lane.markSlow(options.now);
    if (lane.slow) heldBySlow += lane.running.size;
  }
  return slowBudget(options.slots, heldBySlow);
}

/** Every copy this process has of these lanes, running or with an outcome on its way: nothing else may be leased to it. */
function adoptList(adopted: readonly Lane[], settles: readonly PendingSettle[]): NonNullable<TurnRequest["adopt"]> {
  const list = new Map<string, { eventId: string; fence: number }[]>();
  for (const lane of adopted) {
    const held = [...lane.running, ...lane.settles.map((pending) => pending.running)];
    list.set(lane.id, held.map(identity));
  }
  for (const { running } of settles) list.get(running.lane.id)?.push(identity(running));
  return list;
}

function identity({ copy }: PendingSettle["running"]): { eventId: string; fence: number } {
  return { eventId: copy.eventId, fence: copy.fence };
}
