import type { DestinationPolicy, RoutePolicy } from "../../../src/custody/port.ts";
import type { WorkerDestination } from "../../../src/delivery/destinations.ts";
import { workerDestination } from "../worker-destination.ts";

/** Where a worker ends or stops itself: between what it does and what it learns of it. */
export const STEPS = [
  "turn-sent",
  "turn-answered",
  "before-write",
  "written",
  "response",
  "settling",
  "done-sent",
  "done-answered",
] as const;
export type Step = (typeof STEPS)[number];

/** At the n-th time of a step a worker gets a signal from itself. */
export interface Trap {
  readonly step: Step;
  readonly nth: number;
  readonly signal: "SIGKILL" | "SIGSTOP";
}

/** What a worker process is told, as JSON in the environment variable `SHARED`. */
export interface SharedSettings {
  readonly redisUrl: string;
  readonly namespace: string;
  /** Of the receiver; a destination is its path. */
  readonly url: string;
  readonly trap?: Trap;
}

export const TIMEOUT_MS = 800;
const HOUR_MS = 3_600_000;

/** Three routes that send to the same destinations. */
export const ROUTES: readonly RoutePolicy[] = ["a1", "a2", "a3"].map((end) => ({
  route: `00000000000000${end}`,
  windowMs: HOUR_MS,
  earlierWindows: [],
  retention: { deliveredMs: HOUR_MS, deadLettersMs: HOUR_MS, maxEvents: 100_000, keepBodies: false },
}));

/** One that holds, fails and hangs, and one that has a rate. */
export const GATES: Readonly<Record<string, Pick<DestinationPolicy, "limit" | "gate">>> = {
  "~moody": {
    limit: 3,
    gate: { seq: 1, circuit: { consecutiveFailures: 4, openMs: 400, maxOpenMs: 1_600 } },
  },
  "~paced": { limit: 2, gate: { seq: 1, rate: { requests: 30, perMs: 1_000, burst: 3 } } },
};

/** What the workers believe of each destination: an older config with no limit to speak of, so that only what the store keeps can hold them back. */
const OUTDATED = { limit: 64, gate: { seq: 0 } };

/** The destinations as the store is to have them, or as the workers believe them to be. */
export function sharedDestinations(url: string, believed: boolean): Map<string, WorkerDestination> {
  return new Map(
    Object.entries(GATES).map(([id, kept]) => {
      const { limit, gate } = believed ? OUTDATED : kept;
      const plain = workerDestination({
        id,
        name: id.slice(1),
        target: { type: "http", url: `${url}/${id.slice(1)}` },
        timeoutMs: TIMEOUT_MS,
        concurrency: limit,
        retry: {
          type: "schedule",
          delaysMs: Array.from({ length: 60 }, () => 200),
          jitter: 0,
          giveUpAfterMs: HOUR_MS,
          maxRetryAfterMs: HOUR_MS,
          maxAgeMs: HOUR_MS,
        },
      });
      const [policy = plain.policy.policy] = ROUTES;
      return [id, { ...plain, policy: { ...plain.policy, policy, ...(gate && { gate }) } }];
    }),
  );
}
