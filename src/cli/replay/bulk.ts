import { setTimeout as sleep } from "node:timers/promises";
import {
  type Count,
  DEFAULT_REPLAY_RATE,
  type DeadLetterFilter,
  MAX_REPLAY_RATE,
  type Replay,
} from "../../custody/operations.ts";
import { type Io, wholeNumber } from "../command.ts";
import type { CustodyAccess } from "../custody-access.ts";
import { countText, sumOf } from "../operations/counts.ts";
import type { Place } from "../operations/filters.ts";
import { ProgressBar } from "../progress.ts";

/** Between two looks at a replay, ms. */
const LOOK_MS = 250;

/** How a replay of many is to go. */
export interface BulkFlags {
  readonly rate?: string | undefined;
  readonly key?: string | undefined;
  readonly "dry-run": boolean;
  readonly detach: boolean;
}

interface Started {
  readonly namespace: string;
  readonly replay: Replay;
}

/**
 * Starts a replay for each place and follows them to their end.
 * @returns the exit code: 1 when one was cancelled
 */
export async function replayMany(
  access: CustodyAccess,
  places: readonly Place<DeadLetterFilter>[],
  flags: BulkFlags,
  io: Io,
): Promise<number> {
  const rate = wholeNumber("--rate", flags.rate ?? String(DEFAULT_REPLAY_RATE), [1, MAX_REPLAY_RATE]);
  if (flags["dry-run"]) return preview(access, places, io);
  const started: Started[] = [];
  for (const { namespace, filter } of places) {
    const request = { filter, rate, ...(flags.key !== undefined && { key: `${flags.key} ${keyOf(filter)}` }) };
    const { replay, created } = await access.operations(namespace).startReplay(request);
    started.push({ namespace, replay });
    const what = created ? "begins" : "goes on";
    io.stdout.write(
      `replay ${replay.id} ${what}: ${countText({ count: replay.total, atLeast: replay.totalAtLeast })} dead letters, at most ${rate} a second\n`,
    );
  }
  return flags.detach ? 0 : follow(access, started, io);
}

async function preview(access: CustodyAccess, places: readonly Place<DeadLetterFilter>[], io: Io): Promise<number> {
  const counts: Count[] = [];
  for (const { namespace, filter } of places) counts.push(await access.operations(namespace).countDeadLetters(filter));
  io.stdout.write(`would replay ${countText(sumOf(counts))} dead letters\n`);
  return 0;
}

async function follow(access: CustodyAccess, started: readonly Started[], io: Io): Promise<number> {
  const bar = new ProgressBar(io.stderr);
  for (;;) {
    const replays = await Promise.all(
      started.map(async ({ namespace, replay }) => (await access.operations(namespace).replay(replay.id)) ?? replay),
    );
    const sum = (read: (replay: Replay) => number) => replays.reduce((n, replay) => n + read(replay), 0);
    const state = stateOf(replays);
    bar.show({ done: sum(({ replayed }) => replayed), total: sum(({ total }) => total), state });
    if (state === "done" || state === "cancelled") {
      bar.end();
      io.stdout.write(`${state}: ${sum(({ replayed }) => replayed)} replayed\n`);
      return state === "done" ? 0 : 1;
    }
    await sleep(LOOK_MS);
  }
}

/** The state of all: what is still to be waited for goes first. */
function stateOf(replays: readonly Replay[]): Replay["state"] {
  const order: readonly Replay["state"][] = ["running", "paused", "cancelled"];
  return order.find((state) => replays.some((replay) => replay.state === state)) ?? "done";
}

/** With several places one key makes several replays. */
function keyOf({ route = "", destination = "" }: DeadLetterFilter): string {
  return `${route} ${destination}`;
}
