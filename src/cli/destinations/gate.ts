import { parseDuration } from "../../lib/duration.ts";
import { CommandError, type Io, UsageError } from "../command.ts";
import type { CustodyAccess } from "../custody-access.ts";
import type { Call, Values } from "../destinations.ts";
import { time } from "../event-story.ts";
import { timeFlag } from "../operations/filters.ts";
import { ProgressBar } from "../progress.ts";
import { everyDestination, stateOf } from "./list.ts";
import { destinationOf, isShared, nameOf, type Placed } from "./named.ts";

/** Longest hold, ms: what waits for longer expires. */
const MAX_HOLD_MS = 30 * 86_400_000;

/** `davit destinations enable`: named ones, or all that are disabled. @returns the exit code */
export async function enable({ values, ids, access, io }: Call): Promise<number> {
  const chosen = values["all-disabled"] ? await disabled(access) : await gated(access, ids);
  if (values["dry-run"]) {
    for (const one of chosen) io.stdout.write(`${nameOf(access, one)} would be enabled\n`);
    io.stdout.write(`would enable ${chosen.length}\n`);
    return 0;
  }
  const [only] = chosen;
  if (only === undefined || chosen.length > 1) return enableMany(access, chosen, io);
  const transition = await access.ledger(only.namespace).enable(only.destination);
  const was = transition === undefined ? "was closed already; its failures are forgotten" : `was ${transition.from}`;
  io.stdout.write(`${nameOf(access, only)} is enabled: it ${was}\n`);
  return 0;
}

async function enableMany(access: CustodyAccess, chosen: readonly Placed[], io: Io): Promise<number> {
  const bar = new ProgressBar(io.stderr);
  let changed = 0;
  for (const [done, { namespace, destination }] of chosen.entries()) {
    bar.show({ done, total: chosen.length, state: "enabling" });
    if ((await access.ledger(namespace).enable(destination)) !== undefined) changed += 1;
  }
  bar.show({ done: chosen.length, total: chosen.length, state: "done" });
  bar.end();
  io.stdout.write(`${changed} enabled\n`);
  return 0;
}

/** `davit destinations hold`. @returns the exit code: 1 when one is disabled */
export async function hold({ values, ids, access, io }: Call): Promise<number> {
  const end = holdEnd(values);
  const chosen = await gated(access, ids);
  let code = 0;
  for (const { namespace, destination, at } of chosen) {
    const until = end(at);
    const held = await access.ledger(namespace).hold(destination, until);
    const name = nameOf(access, { namespace, destination });
    if (held === undefined) {
      io.stderr.write(`${name} is disabled, which lasts until it is enabled\n`);
      code = 1;
    } else io.stdout.write(`${name} is held until ${time(until)}; davit destinations enable ends that\n`);
  }
  return code;
}

/**
 * When a hold is to end.
 * @returns from the store's time, Unix ms
 * @throws UsageError
 */
function holdEnd({ for: text, until }: Values): (now: number) => number {
  if ((text === undefined) === (until === undefined)) throw new UsageError("say how long: --for 10m, or --until TIME");
  const span = text === undefined ? undefined : durationFlag(text);
  return (now) => {
    const end = span === undefined ? timeFlag("--until", until ?? "", now) : now + span;
    if (end > now && end <= now + MAX_HOLD_MS) return end;
    throw new UsageError(`${span === undefined ? "--until" : "--for"}: a hold ends within the next 720h`);
  };
}

function durationFlag(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new UsageError(`--for: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function disabled(access: CustodyAccess): Promise<readonly Placed[]> {
  return (await everyDestination(access)).filter((one) => stateOf(one) === "Disabled");
}

/** All of them are found before anything is done to one. */
async function gated(
  access: CustodyAccess,
  ids: readonly string[],
): Promise<readonly (Placed & { readonly at: number })[]> {
  const chosen: (Placed & { readonly at: number })[] = [];
  for (const id of ids) {
    const found = await destinationOf(access, id);
    if (!isShared(found)) {
      throw new CommandError(`${id} stands in its route, and has no gate: suspend the route's delivery instead`);
    }
    const { namespace, destination, statistics } = found;
    chosen.push({ namespace, destination, at: statistics.at });
  }
  return chosen;
}
