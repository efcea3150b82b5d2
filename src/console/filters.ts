import { z } from "zod";
import type { CopyFilter, DeadLetterFilter } from "../custody/operations.ts";
import type { Directory } from "./directory.ts";
import { destinationName, destinationNamed, demandNamespace, routeNamed, routeNames } from "./naming.ts";
import { routeName, text, time } from "./parameters.ts";

const NOT_A_DESTINATION = "must be the name of a destination of the route, or ~ID of a WebhookDestination";
const NOT_A_REASON = "must be a reason as listed: AttemptsExhausted, Status404; Status5* for all of them";
const NOT_A_TYPE = "must be an event type of at most 128 characters; invoice.* for all of them";

/** Destination of a filter or of one event. */
export const destination = z
  .string({ error: NOT_A_DESTINATION })
  .regex(/^~?[^\p{Cc}\p{Cs}]{1,128}$/u, { error: NOT_A_DESTINATION });
/** Pattern of an event's type. */
export const eventType = text(NOT_A_TYPE, 129);

const span = { from: time.optional(), to: time.optional() };
const copies = { route: routeName.optional(), destination: destination.optional(), eventType: eventType.optional() };

const reason = z
  .string({ error: NOT_A_REASON })
  .max(64, { error: NOT_A_REASON })
  .regex(/^[A-Za-z0-9]+\*?$|^\*$/, { error: NOT_A_REASON });

/** Fields of a time range in the query or in a filter. */
export const SPAN = span;
/** Fields that choose dead letters. */
export const LETTERS = { ...copies, reason: reason.optional(), ...span };
/** Fields that choose copies. */
export const COPIES = { ...copies, ...span };

/** Whether a time range has its ends the right way round, for `refine`. */
export function isForward({
  from,
  to,
}: {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}): boolean {
  return from === undefined || to === undefined || from <= to;
}

/** What is wrong when {@link isForward} says no. */
export const BACKWARD = { error: "must not be after `to`", path: ["from"] };

/** A filter as callers write it, read. */
export interface NamedFilter {
  readonly route?: string | undefined;
  readonly destination?: string | undefined;
  readonly reason?: string | undefined;
  readonly eventType?: string | undefined;
  /** Unix ms. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/**
 * A filter in the names of custody.
 * @param at where its fields stand, for the message: `` or `filter.`
 * @throws Refused when there is no such route, nothing in the namespace, or a destination needs its route
 */
export function custodyFilter(
  { directory, namespace }: { readonly directory: Directory; readonly namespace: string },
  filter: NamedFilter,
  at = "",
): DeadLetterFilter & CopyFilter {
  demandNamespace(directory, namespace);
  const route = filter.route === undefined ? undefined : routeNamed(directory, namespace, filter.route);
  return {
    ...present(filter),
    ...(route && { route: route.route }),
    ...(filter.destination !== undefined && {
      destination: destinationNamed(filter.destination, route, `${at}destination`),
    }),
  };
}

/** A filter of custody in the names of callers. */
export function filterAnswer(directory: Directory, namespace: string, filter: DeadLetterFilter): object {
  const { route, destination: copy, from, to, ...patterns } = filter;
  return {
    ...(route !== undefined && { route: routeNames(directory, namespace)(route) }),
    ...(copy !== undefined && { destination: destinationName(copy) }),
    ...patterns,
    ...(from !== undefined && { from: isoTime(from) }),
    ...(to !== undefined && { to: isoTime(to) }),
  };
}

/** A filter for the audit line: names and times, as they were sent. */
export function auditFilter({ from, to, ...names }: NamedFilter): object {
  return {
    ...present(names),
    ...(from !== undefined && { from: isoTime(from) }),
    ...(to !== undefined && { to: isoTime(to) }),
  };
}

/** A time of custody for callers. @param ms Unix ms */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Without what is undefined: exact optional properties know no such value. */
export function present<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
