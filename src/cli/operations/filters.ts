import { destinationId, idOfDestination, inlineDestinationId } from "../../api/names.ts";
import type { DeadLetterFilter } from "../../custody/operations.ts";
import { parseDuration } from "../../lib/duration.ts";
import { UsageError } from "../command.ts";
import { type CustodyAccess, routesNamed } from "../custody-access.ts";

/** Flags that choose dead letters. */
export const LETTER_OPTIONS = {
  route: { type: "string" },
  destination: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  reason: { type: "string" },
  type: { type: "string" },
} as const;

/** Their part of a usage text. */
export const LETTER_USAGE = `
  --route NAME         of this route: name, namespace/name, or the 16-digit route key
  --destination NAME   of this destination: its name with --route, ROUTE/NAME, or ~ID of a WebhookDestination
  --from, --to TIME    died in this time: 2026-01-31, 2026-01-31T12:00:00Z, or 2h (that long ago; units ms, s, m, h, d)
  --reason REASON      given up for this reason, as listed: AttemptsExhausted, Status404; Status5* for all of them
  --type TYPE          of this event type; invoice.* for all of them`;

/** Values of {@link LETTER_OPTIONS}. */
export type LetterValues = { readonly [Name in keyof typeof LETTER_OPTIONS]?: string | undefined };

/** A namespace, and what is chosen in it. */
export interface Place<F> {
  readonly namespace: string;
  readonly filter: F;
}

/** Whether any of the flags restricts anything. */
export function isRestricted(values: LetterValues): boolean {
  return Object.keys(LETTER_OPTIONS).some((name) => values[name as keyof LetterValues] !== undefined);
}

/**
 * What the flags choose, a filter for each route, or for each namespace.
 * @param now Unix ms
 * @throws UsageError, CommandError when there is no such route
 */
export function letterPlaces(
  access: CustodyAccess,
  values: LetterValues,
  now: number,
): readonly Place<DeadLetterFilter>[] {
  const { from, to, reason, type: eventType } = values;
  const filter = {
    ...(from !== undefined && { from: timeFlag("--from", from, now) }),
    ...(to !== undefined && { to: timeFlag("--to", to, now) }),
    ...(reason !== undefined && { reason }),
    ...(eventType !== undefined && { eventType }),
  };
  return owners(access, values).map(({ namespace, ...owner }) => ({ namespace, filter: { ...owner, ...filter } }));
}

/** A namespace with the route or destination that was named in it, if any. */
export interface Owner {
  readonly namespace: string;
  /** Route key. */
  readonly route?: string;
  readonly destination?: string;
}

/**
 * Routes and destinations that `--route` and `--destination` name.
 * @throws UsageError, CommandError when there is no such route
 */
export function owners(
  access: CustodyAccess,
  { route, destination }: Pick<LetterValues, "route" | "destination">,
): readonly Owner[] {
  if (destination !== undefined) return destinationOwners(access, route, destination);
  if (route !== undefined)
    return routesNamed(access, route).map((one) => ({ namespace: one.namespace, route: one.route }));
  return access.namespaces.map((namespace) => ({ namespace }));
}

function destinationOwners(access: CustodyAccess, route: string | undefined, text: string): readonly Owner[] {
  if (text.startsWith("~")) return sharedOwners(access, route, text);
  const slash = text.lastIndexOf("/");
  if (slash >= 0 && route !== undefined) throw new UsageError(`--destination: with --route write its name only`);
  const named = slash < 0 ? route : text.slice(0, slash);
  if (named === undefined) throw new UsageError(`--destination: add --route, write ROUTE/${text}, or ~ID`);
  return routesNamed(access, named).map((one) => ({
    namespace: one.namespace,
    destination: inlineDestinationId(one.route, text.slice(slash + 1)),
  }));
}

/** `~ID`, as it is listed or as the object is called. */
function sharedOwners(access: CustodyAccess, route: string | undefined, text: string): readonly Owner[] {
  const destination = idOfDestination(text) === undefined ? destinationId(text.slice(1)) : text;
  if (destination === undefined) throw new UsageError(`--destination: "${text}" is no id of a WebhookDestination`);
  if (route === undefined) return access.namespaces.map((namespace) => ({ namespace, destination }));
  return routesNamed(access, route).map((one) => ({ namespace: one.namespace, route: one.route, destination }));
}

/**
 * Reads a point in time: a date, a date with time (UTC unless it says otherwise), or how long ago.
 * @returns Unix ms
 * @throws UsageError that names the flag
 */
export function timeFlag(flag: string, text: string, now: number): number {
  const days = /^(\d+)d$/.exec(text)?.[1];
  if (days !== undefined) return now - Number(days) * 86_400_000;
  if (/^\d{4}-\d{2}-\d{2}/.test(text)) {
    const zoned = /^\d{4}-\d{2}-\d{2}[T ][\d:.]+$/.test(text) ? `${text}Z` : text;
    const time = Date.parse(zoned);
    if (!Number.isNaN(time)) return time;
  }
  try {
    return now - parseDuration(text);
  } catch {
    throw new UsageError(
      `${flag}: "${text}" is no time; write 2026-01-31, 2026-01-31T12:00:00Z, or 2h for two hours ago`,
    );
  }
}
