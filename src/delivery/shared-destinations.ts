import { DEFAULT_CIRCUIT, type GateConfig } from "../custody/gate.ts";
import type { TakenCopy } from "../custody/port.ts";
import type { DestinationEntry, RouteDelivery, RouteEntry } from "../routes/entry.ts";
import { hasLabels } from "../routes/shared-copies.ts";
import { unknownPolicy, type WorkerDestination, type WorkerRoute } from "./destinations.ts";
import { signableUntil } from "./signing.ts";

/** The id of an event's destination must be missing for so long since receipt or the last revival before it counts as none, ms (`design.md` §3). */
export const MISSING_MS = 60_000;

/** What a WebhookDestination is to the copies of one route: its own fields, and the route's `delivery` where it leaves them open. */
type ForRoute = (route: string | undefined) => WorkerDestination | undefined;

/**
 * A WebhookDestination, which the copies of several routes share: one lane, one limit, one gate. Its own policy keeps every copy, for what is kept how long is
 * each route's to say.
 *
 * @param users the routes whose events may go to it, with their worker's view of them
 * @param resting further routes of which copies may lie in its lane, and are put on their shelf
 */
export function sharedDestination(
  entry: DestinationEntry,
  namespace: string,
  users: readonly { readonly route: RouteEntry; readonly known: WorkerRoute }[],
  resting: readonly string[] = [],
): WorkerDestination & { readonly forRoute: ForRoute } {
  const byRoute = new Map(users.map((user) => [user.route.route, user]));
  const made = new Map<string, WorkerDestination>();
  const suspended = users.filter(({ known }) => known.suspended).map(({ route }) => route.route);
  const shelving = [...new Set([...suspended, ...resting])];
  const policy = {
    ...unknownPolicy(entry.id),
    ...(shelving.length > 0 && { shelving }),
    limit: limitOf(entry, users),
    // A lease must outlast the longest exchange of any route.
    timeoutMs: Math.max(entry.timeoutMs, ...users.map(({ route }) => filled(entry, route.delivery).timeoutMs)),
    gate: gateOf(entry),
  };
  const forRoute: ForRoute = (key = "") => {
    const known = made.get(key);
    const user = byRoute.get(key);
    if (known !== undefined || user === undefined) return known;
    const variant = variantOf(filled(entry, user.route.delivery), user.known, policy);
    made.set(key, variant);
    return variant;
  };
  return {
    entry,
    namespace,
    routeName: "",
    seq: entry.seq ?? 0,
    suspended: entry.suspended === true || (entry.incomplete?.length ?? 0) > 0,
    signableUntil: signableUntil(entry.signing),
    policy,
    forRoute,
  };
}

function variantOf(
  entry: DestinationEntry,
  route: WorkerRoute,
  shared: WorkerDestination["policy"],
): WorkerDestination {
  return {
    entry,
    namespace: route.namespace,
    routeName: route.name,
    seq: route.seq,
    suspended: route.suspended,
    signableUntil: signableUntil(entry.signing),
    policy: { ...shared, policy: route.policy, timeoutMs: entry.timeoutMs, maxAgeMs: entry.retry.maxAgeMs },
  };
}

/** The entry with its gaps filled; headers from Secrets are headers like others from here on, and win. */
function filled(entry: DestinationEntry, delivery: RouteDelivery | undefined): DestinationEntry {
  const fields = (entry.gaps ?? []).flatMap((field) => {
    const value = delivery?.[field];
    return value === undefined ? [] : [[field, value] as const];
  });
  const whole: DestinationEntry = { ...entry, ...Object.fromEntries(fields) };
  return { ...whole, headers: { ...whole.headers, ...entry.headersFrom } };
}

/** Its own `concurrency`, else the smallest that a route writes. */
function limitOf(entry: DestinationEntry, users: readonly { readonly route: RouteEntry }[]): number {
  if (entry.gaps?.includes("concurrency") !== true) return entry.concurrency;
  const written = users.flatMap(({ route }) => route.delivery?.concurrency ?? []);
  return written.length === 0 ? entry.concurrency : Math.min(...written);
}

function gateOf({ seq = 0, rateLimit, disableAfter }: DestinationEntry): GateConfig {
  return {
    seq,
    circuit: DEFAULT_CIRCUIT,
    ...(rateLimit && { rate: rateLimit }),
    ...(disableAfter && { disableAfter }),
  };
}

/** What is to be done with a copy of a WebhookDestination that is in the config. */
export type SharedJudgement =
  | { readonly type: "send"; readonly destination: WorkerDestination }
  /** Its route is not known here, or has it no more: see {@link deathOfMissing}. */
  | { readonly type: "gone" }
  /** Its route is suspended by a config that is newer than the turn, or cannot sign: left alone for a while. */
  | { readonly type: "park" }
  | { readonly type: "expired"; readonly destination: WorkerDestination };

/** @param now Unix ms of this process, for keys that end */
export function judgeShared(forRoute: ForRoute, copy: TakenCopy, now: number): SharedJudgement {
  const destination = forRoute(copy.route);
  if (destination === undefined) return { type: "gone" };
  if (copy.now - bornAt(copy) >= destination.policy.maxAgeMs) return { type: "expired", destination };
  if (destination.suspended || now > destination.signableUntil) return { type: "park" };
  return { type: "send", destination };
}

/**
 * Why a copy of a WebhookDestination that is not in the config, or that its route has no more or may not choose, is dead, if it is: its config must be as new as
 * the event, and the id missing for {@link MISSING_MS}, for routes and destinations reach a worker in parts. While its route names it, it waits for it.
 *
 * @param isLive whether the config is being watched: one that is merely remembered proves nothing
 */
export function deathOfMissing(
  copy: TakenCopy,
  route: WorkerRoute | undefined,
  isLive: boolean,
): "NoSuchDestination" | "DestinationRemoved" | undefined {
  if (route === undefined || route.suspended || !isLive) return undefined;
  if (route.sharedIds?.has(copy.destination) === true) return undefined;
  if (route.seq < copy.seq || copy.now - bornAt(copy) < MISSING_MS) return undefined;
  return route.isChosenByEvents === true ? "NoSuchDestination" : "DestinationRemoved";
}

/** A copy that may not be sent now is looked at again after this at the soonest and at the latest, ms. */
const PARKED_MS = { least: 5_000, most: 60_000 };

/** … and between these after as long as it has waited: many that wait for long must not keep the store busy. */
export function parkedMs(copy: TakenCopy): number {
  return Math.min(PARKED_MS.most, Math.max(PARKED_MS.least, copy.now - bornAt(copy)));
}

/** Receipt or the last revival, Unix ms. */
function bornAt({ receivedAt, revivedAt = 0 }: TakenCopy): number {
  return Math.max(receivedAt, revivedAt);
}

/** Routes by the WebhookDestinations that their events may go to. */
export function usersOf<T extends { readonly route: RouteEntry }>(
  routes: readonly T[],
): (destination: DestinationEntry) => readonly T[] {
  const choosing = routes.filter(({ route }) => route.destinationIdFrom !== undefined);
  const naming = new Map<string, T[]>();
  for (const one of routes) {
    for (const { id } of one.route.sharedCopies ?? []) naming.set(id, [...(naming.get(id) ?? []), one]);
  }
  return ({ id, labels }) => {
    const mayChoose = ({ destinationLabels }: RouteEntry) =>
      labels === undefined || destinationLabels === undefined || hasLabels(labels, destinationLabels);
    return [...choosing.filter(({ route }) => mayChoose(route)), ...(naming.get(id) ?? [])];
  };
}
