import { unsignedIdHeader } from "../api/chosen-destination.ts";
import type { ResolvedWebhookRouteSpec } from "../api/defaults.ts";
import type { RouteEntry, SharedCopy } from "./entry.ts";

/** A WebhookDestination of the route's namespace that has its id. */
export interface KnownDestination {
  /** `metadata.name`. */
  readonly name: string;
  /** See `destinationId`. */
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Its `concurrency`, where it writes one. */
  readonly limit?: number;
}

/** Most copies of an event. */
export const MAX_COPIES = 32;

/** `DestinationsResolved` of a route. */
export type DestinationsFinding =
  | { readonly ok: true; readonly message: string }
  | {
      readonly ok: false;
      readonly reason: "DestinationNotFound" | "TooManyDestinations";
      readonly message: string;
      /** What was published last is not enough to go on: no event may be taken. */
      readonly closed: boolean;
    };

/** Whether no event may be taken. */
export function isClosed(finding: DestinationsFinding): boolean {
  return !finding.ok && finding.closed;
}

/** The part of an entry that makes the copies for WebhookDestinations. */
export type SharedPart = Pick<RouteEntry, "sharedCopies" | "destinationIdFrom" | "destinationLabels">;

/**
 * The WebhookDestinations that a route's events go to. Where that cannot be said (a name that nobody bears, more matches than an event may have copies) what was
 * published last goes on; a destination that was never known closes the route, since an event that is taken now would never reach it.
 *
 * @param known all that have an id in the route's namespace
 * @param published the entry published last
 */
export function resolveShared(
  spec: ResolvedWebhookRouteSpec,
  known: readonly KnownDestination[] = [],
  published?: RouteEntry,
): { readonly part: SharedPart; readonly finding: DestinationsFinding } {
  const { destinationSelector: selector } = spec;
  if (selector === undefined) return resolveRefs(spec, known, published);
  if (selector.idFrom !== undefined) {
    const header = unsignedIdHeader(spec);
    const risk = header === undefined ? "" : `, by header ${header}, which the signature does not cover`;
    return {
      part: { destinationIdFrom: selector.idFrom, destinationLabels: selector.matchLabels },
      finding: { ok: true, message: `chosen by each event${risk}` },
    };
  }
  const matches = known.filter(({ labels }) => hasLabels(labels, selector.matchLabels));
  const copies = matches.map((one) => copyOf(one, spec, [])).toSorted(byId);
  if (copies.length <= MAX_COPIES) {
    return { part: { sharedCopies: copies }, finding: { ok: true, message: `${copies.length} selected` } };
  }
  const before = published?.sharedCopies ?? [];
  const closed = before.length === 0;
  const message = `the selector matches ${copies.length} WebhookDestinations, an event has at most ${MAX_COPIES} copies: select fewer, or choose one with idFrom. ${
    closed ? "Events are answered 503" : `The ${before.length} that were selected before go on`
  }`;
  return { part: { sharedCopies: before }, finding: { ok: false, reason: "TooManyDestinations", message, closed } };
}

/** Whether events of a route may have copies for WebhookDestinations. */
export function usesDestinations({ sharedCopies, destinationIdFrom }: RouteEntry): boolean {
  return sharedCopies !== undefined || destinationIdFrom !== undefined;
}

/** Whether these are among the labels of an object. */
export function hasLabels(labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

function resolveRefs(
  spec: ResolvedWebhookRouteSpec,
  known: readonly KnownDestination[],
  published: RouteEntry | undefined,
): ReturnType<typeof resolveShared> {
  const byName = new Map(known.map((one) => [one.name, one]));
  // An id that is another's by now is no longer the way to the one that had it.
  const takenIds = new Set(known.map(({ id }) => id));
  const last = (published?.sharedCopies ?? []).filter(({ id, name }) => byName.has(name) || !takenIds.has(id));
  const before = new Map(last.map((copy) => [copy.name, copy]));
  const refs = spec.destinations.flatMap(({ destinationRef, eventTypes = [] }) =>
    destinationRef ? [{ name: destinationRef.name, eventTypes }] : [],
  );
  const copies = new Map<string, SharedCopy>();
  for (const { name, eventTypes } of refs) {
    const found = byName.get(name);
    const kept = before.get(name);
    const copy = found ? copyOf(found, spec, eventTypes) : kept && { ...kept, eventTypes };
    if (copy) copies.set(copy.id, merged(copies.get(copy.id), copy));
  }
  const part = copies.size === 0 ? {} : { sharedCopies: [...copies.values()].toSorted(byId) };
  const missing = refs.map(({ name }) => name).filter((name) => !byName.has(name));
  if (missing.length === 0) return { part, finding: { ok: true, message: "all destinations are known" } };
  return {
    part,
    finding: notFound(
      missing,
      missing.some((name) => !before.has(name)),
    ),
  };
}

function notFound(missing: readonly string[], closed: boolean): DestinationsFinding {
  const message = `no WebhookDestination ${missing.join(", ")} in this namespace: create it, or correct destinationRef. ${
    closed ? "Events are answered 503" : "Its copies wait for it"
  }`;
  return { ok: false, reason: "DestinationNotFound", message, closed };
}

function copyOf(
  { id, name, limit }: KnownDestination,
  { delivery }: ResolvedWebhookRouteSpec,
  eventTypes: readonly string[],
): SharedCopy {
  return { id, name, limit: limit ?? delivery?.concurrency ?? 1, eventTypes };
}

/** A destination that is named twice still gets one copy, of whatever either entry lets through. */
function merged(known: SharedCopy | undefined, copy: SharedCopy): SharedCopy {
  if (known === undefined) return copy;
  const isOpen = known.eventTypes.length === 0 || copy.eventTypes.length === 0;
  return { ...copy, eventTypes: isOpen ? [] : [...new Set([...known.eventTypes, ...copy.eventTypes])] };
}

function byId(a: SharedCopy, b: SharedCopy): number {
  return a.id < b.id ? -1 : 1;
}
