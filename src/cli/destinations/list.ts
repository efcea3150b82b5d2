import { GATE_STATES, type GateState } from "../../custody/gate.ts";
import type { Backlog } from "../../custody/backlog.ts";
import type { DestinationSummary } from "../../custody/statistics.ts";
import { printJson, UsageError } from "../command.ts";
import type { CustodyAccess } from "../custody-access.ts";
import type { Call } from "../destinations.ts";
import { table } from "../table.ts";
import { isShared, type Placed } from "./named.ts";

/** Destinations of one call of the store. */
const PAGE = 100;

/** A destination in a list, with its namespace. */
export type Listed = Placed & { readonly backlog: Backlog };

/** `davit destinations`: all of them. @returns the exit code */
export async function list({ values, access, io, format }: Call): Promise<number> {
  const state = stateFlag(values.state);
  const all = (await everyDestination(access)).filter((one) => state === undefined || stateOf(one) === state);
  if (format === "json") {
    printJson(
      io,
      all.map(({ namespace, destination, backlog }) => ({
        namespace,
        destination: access.destinationName(destination),
        ...backlog,
      })),
    );
    return 0;
  }
  const rows = all.map((one) => {
    const { waiting, delayed, active, dead, oldestWaitingSeconds, deliveredSecondsAgo } = one.backlog;
    return [
      access.destinationName(one.destination),
      one.namespace,
      stateOf(one) ?? "-",
      ...[waiting, delayed, active, dead].map(String),
      waiting === 0 ? "-" : ageText(oldestWaitingSeconds),
      deliveredSecondsAgo === undefined ? "never" : `${ageText(deliveredSecondsAgo)} ago`,
    ];
  });
  io.stdout.write(
    table(["DESTINATION", "NAMESPACE", "STATE", "WAITING", "DELAYED", "ACTIVE", "DEAD", "OLDEST", "DELIVERED"], rows),
  );
  return 0;
}

/** All that the store knows, and what a running `davit dev` has besides, in the order of their names. */
export async function everyDestination(access: CustodyAccess): Promise<readonly Listed[]> {
  const all: Listed[] = [];
  for (const namespace of access.namespaces) {
    const known = await ofNamespace(access, namespace);
    const names = new Set(known.map(({ destination }) => destination));
    const unused = access.destinations.filter((one) => one.namespace === namespace && !names.has(one.destination));
    const backlogs = await access.ledger(namespace).stats(unused.map(({ destination }) => destination));
    const more = [...backlogs].map(([destination, backlog]) => ({ destination, backlog }));
    for (const one of [...known, ...more]) all.push({ namespace, ...one });
  }
  const place = (one: Listed) => `${one.namespace} ${access.destinationName(one.destination)}`;
  return all.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
}

async function ofNamespace(access: CustodyAccess, namespace: string): Promise<readonly DestinationSummary[]> {
  const found: DestinationSummary[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: PAGE, ...(cursor !== undefined && { cursor }) };
    const page = await access.statistics(namespace).list(query);
    found.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

/** State of its gate; `undefined` for one that has none. */
export function stateOf(one: Listed): GateState | undefined {
  return isShared(one) ? (one.backlog.gate ?? "Closed") : undefined;
}

/** @throws UsageError */
export function stateFlag(text: string | undefined): GateState | undefined {
  const state = GATE_STATES.find((one) => one.toLowerCase() === text?.toLowerCase());
  if (text === undefined || state !== undefined) return state;
  throw new UsageError(`--state: "${text}" is not known; there are ${GATE_STATES.join(", ")}`);
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** Seconds in their largest unit: `5m`, `3h`. */
function ageText(seconds: number): string {
  const unit = UNITS.find(([, size]) => seconds >= size);
  return unit === undefined ? `${Math.round(seconds)}s` : `${Math.floor(seconds / unit[1])}${unit[0]}`;
}
