import { isRecord } from "../lib/record.ts";

/** Annotation of a gateway's serving Lease: what it saw of requests lately. */
export const OBSERVATIONS_ANNOTATION = "davit.dev/observations";

/** What is told covers so many seconds. */
export const OBSERVATION_WINDOW_S = 300;

/** Share of a provider's ack budget above which an answer is slow. */
export const SLOW_SHARE = 0.7;

/** Most routes that are told of. */
export const MAX_OBSERVED_ROUTES = 100;

/** What one gateway saw of a route within the window. */
export interface RouteObservation {
  /** Route key. */
  readonly key: string;
  /** Requests that were answered, of every outcome. */
  readonly requests: number;
  /** Requests whose signature matched. */
  readonly verified: number;
  /** Requests that verification refused, our own faults (no usable key, no public key) apart. */
  readonly refused: number;
  /** Answers that took longer than {@link SLOW_SHARE} of the provider's ack budget. */
  readonly slow: number;
}

/** The value of the annotation: `{"schema":1,"routes":[["<route key>",requests,verified,refused,slow],…]}`. */
interface Written {
  readonly schema: 1;
  readonly routes: readonly (readonly [
    key: string,
    requests: number,
    verified: number,
    refused: number,
    slow: number,
  ])[];
}

/**
 * Puts the annotation together: routes with refusals or slow answers, those with most of them first, then the busiest. A route with which all is well here
 * counts as well: a sender that is refused may keep its connection to one gateway, and those that are not to another.
 */
export function buildObservations(routes: readonly RouteObservation[]): string {
  const told = routes
    .filter(({ requests }) => requests > 0)
    .toSorted((a, b) => b.refused + b.slow - a.refused - a.slow || b.requests - a.requests || (a.key < b.key ? -1 : 1))
    .slice(0, MAX_OBSERVED_ROUTES);
  const written: Written = {
    schema: 1,
    routes: told.map(({ key, requests, verified, refused, slow }) => [key, requests, verified, refused, slow]),
  };
  return JSON.stringify(written);
}

/** Reads the annotation. What is missing, of a newer schema or edited by hand says nothing: never throws. */
export function parseObservations(text: string | undefined): readonly RouteObservation[] {
  if (text === undefined) return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  if (!isRecord(value) || value["schema"] !== 1 || !Array.isArray(value["routes"])) return [];
  return value["routes"].slice(0, MAX_OBSERVED_ROUTES).flatMap((row) => observationOf(row) ?? []);
}

function observationOf(row: unknown): RouteObservation | undefined {
  if (!Array.isArray(row)) return undefined;
  const [key, ...counts] = row as readonly unknown[];
  const numbers = counts.flatMap((count) => (Number.isSafeInteger(count) && Number(count) >= 0 ? [Number(count)] : []));
  const [requests, verified, refused, slow] = numbers;
  if (typeof key !== "string" || !/^[0-9a-f]{16}$/.test(key) || counts.length !== 4) return undefined;
  if (requests === undefined || verified === undefined || refused === undefined || slow === undefined) return undefined;
  return { key, requests, verified, refused, slow };
}

/** Adds up what several gateways saw, by route key. */
export function sumObservations(all: readonly (readonly RouteObservation[])[]): ReadonlyMap<string, RouteObservation> {
  const sums = new Map<string, RouteObservation>();
  for (const one of all.flat()) {
    const sum = sums.get(one.key);
    sums.set(one.key, sum === undefined ? one : add(sum, one));
  }
  return sums;
}

function add(a: RouteObservation, b: RouteObservation): RouteObservation {
  return {
    key: a.key,
    requests: a.requests + b.requests,
    verified: a.verified + b.verified,
    refused: a.refused + b.refused,
    slow: a.slow + b.slow,
  };
}
