import type { GateConfig } from "../../../src/custody/gate.ts";
import type { WorkerDestination } from "../../../src/delivery/destinations.ts";
import { sharedDestination } from "../../../src/delivery/shared-destinations.ts";
import { entryOf } from "../../../src/routes/testing.ts";
import type { DestinationEntry, RetryPolicy } from "../../../src/routes/entry.ts";
import { ROUTES } from "../shared/settings.ts";
import { workerDestination } from "../worker-destination.ts";

/** How a receiver behaves, how many there are of it, and how its copies must end. */
export interface Temper {
  readonly count: number;
  /** So many of them are inline destinations of one of the routes; the others are shared by all of them. */
  readonly inline?: number;
  /** `kept`: its copies stay where they are, apart from those that its own answers ended. */
  readonly ends: "delivered" | "dead" | "kept";
  /** It may hold a request longer than the timeout. */
  readonly hangs?: true;
}

/** 200 destinations. What each answers is in `receivers.ts`. */
export const TEMPERS = {
  fast: { count: 34, inline: 10, ends: "delivered" },
  slow: { count: 30, inline: 8, ends: "delivered" },
  busySeconds: { count: 16, ends: "delivered" },
  busyDates: { count: 16, ends: "delivered" },
  junkHints: { count: 16, inline: 6, ends: "delivered" },
  resetting: { count: 16, inline: 4, ends: "delivered" },
  cutting: { count: 12, ends: "delivered" },
  saysTooMuch: { count: 6, ends: "delivered" },
  flooding: { count: 6, ends: "delivered", hangs: true },
  dripping: { count: 6, ends: "delivered", hangs: true },
  hanging: { count: 10, ends: "delivered", hangs: true },
  failing: { count: 12, inline: 4, ends: "delivered" },
  neverWell: { count: 4, inline: 2, ends: "dead" },
  alwaysBusy: { count: 4, ends: "dead" },
  alwaysHanging: { count: 2, ends: "dead", hangs: true },
  refusing: { count: 2, ends: "dead" },
  gone: { count: 4, ends: "kept" },
  farFuture: { count: 4, ends: "kept" },
} as const satisfies Readonly<Record<string, Temper>>;
export type TemperName = keyof typeof TEMPERS;

/** A destination of the run. */
export interface Mixed {
  readonly id: string;
  readonly temper: TemperName;
  readonly limit: number;
  /** Of an inline one: place of its route in `ROUTES`. */
  readonly route?: number;
}

/** What a worker process is told, as JSON in the environment variable `MIXED`. */
export interface MixedSettings {
  readonly redisUrl: string;
  readonly namespace: string;
  readonly retryMs: number;
  readonly destinations: readonly (Mixed & { readonly url: string })[];
}

export const TIMEOUT_MS = 2_000;
/** A lease lasts 5 s longer, and is taken back 2 s after it ran out. */
export const LEASE_MS = TIMEOUT_MS + 5_000;
const HOUR_MS = 3_600_000;
/** Short pauses, so that a run of half a minute sees many. */
const GATE: GateConfig = { seq: 1, circuit: { consecutiveFailures: 5, openMs: 200, maxOpenMs: 800 } };
/** What the workers believe of shared destinations: an older config with no limit to speak of, so that only what the store keeps can hold them back. */
const OUTDATED = { limit: 64, gate: { seq: 0 } };

/** All destinations, with limits from 1 to 4. */
export function mixedDestinations(): Mixed[] {
  const all: Mixed[] = [];
  for (const [temper, { count, inline = 0 }] of Object.entries<Temper>(TEMPERS)) {
    for (let n = 0; n < count; n++) {
      const name = `${temper.toLowerCase()}-${n}`;
      const route = n % ROUTES.length;
      const one = { temper: temper as TemperName, limit: 1 + (n % 4) };
      all.push(n < inline ? { ...one, id: `${ROUTES[route]?.route}/${name}`, route } : { ...one, id: `~${name}` });
    }
  }
  return all;
}

/** Two attempts for those that never take anything, as many as it needs for the others. */
function retryOf({ temper }: Mixed, retryMs: number): RetryPolicy {
  const delays = TEMPERS[temper].ends === "dead" ? 1 : 200;
  return {
    type: "schedule",
    delaysMs: Array.from({ length: delays }, () => retryMs),
    jitter: 0,
    giveUpAfterMs: HOUR_MS,
    maxRetryAfterMs: 168 * HOUR_MS,
    maxAgeMs: 720 * HOUR_MS,
  };
}

/** The destinations as the store is to have them, or as the workers believe them to be. */
export function asConfigured(settings: MixedSettings, believed: boolean): Map<string, WorkerDestination> {
  const routes = ROUTES.map((policy) => ({
    route: { ...entryOf(), route: policy.route },
    known: { namespace: "shop", name: policy.route, seq: 1, suspended: false, policy },
  }));
  return new Map(
    settings.destinations.map((one) => {
      const { id, limit, url, route } = one;
      const fields: Partial<DestinationEntry> = {
        name: id.replace(/^~|.*\//, ""),
        target: { type: "http", url },
        timeoutMs: TIMEOUT_MS,
        concurrency: limit,
        retry: retryOf(one, settings.retryMs),
      };
      const plain = workerDestination({ ...fields, id });
      if (route !== undefined) {
        const policy = routes[route]?.known.policy ?? plain.policy.policy;
        return [id, { ...plain, policy: { ...plain.policy, policy } }];
      }
      const shared = sharedDestination({ ...plain.entry, kind: "shared", seq: 1 }, "shop", routes);
      const kept = { limit, gate: GATE };
      return [id, { ...shared, policy: { ...shared.policy, ...(believed ? OUTDATED : kept) } }];
    }),
  );
}
