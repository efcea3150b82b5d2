import type { DestinationEntry } from "../../src/routes/entry.ts";
import type { WorkerDestination } from "../../src/delivery/destinations.ts";
import { signableUntil } from "../../src/delivery/signing.ts";

/** A destination `<route>/<name>` of route `shop/orders`, with sensible values for what a test does not care about. */
export function workerDestination(
  overrides: Partial<DestinationEntry> & { readonly suspended?: boolean; readonly id?: string } = {},
): WorkerDestination {
  const { suspended = false, ...entryOverrides } = overrides;
  const entry: DestinationEntry = {
    id: "00000000000000ab/orders",
    name: "orders",
    target: { type: "http", url: "http://127.0.0.1:9/hook" },
    eventTypes: [],
    timeoutMs: 15_000,
    concurrency: 16,
    retry: {
      type: "schedule",
      delaysMs: [1_000, 5_000, 30_000],
      jitter: 0,
      giveUpAfterMs: 259_200_000,
      maxRetryAfterMs: 604_800_000,
      maxAgeMs: 2_592_000_000,
    },
    headers: {},
    forwardHeaders: [],
    ...entryOverrides,
  };
  return {
    entry,
    namespace: "shop",
    routeName: "orders",
    seq: 1,
    suspended,
    signableUntil: signableUntil(entry.signing),
    policy: {
      destination: entry.id,
      policy: {
        route: "00000000000000ab",
        windowMs: 604_800_000,
        earlierWindows: [],
        retention: {
          deliveredMs: 259_200_000,
          deadLettersMs: 2_592_000_000,
          maxEvents: 10_000,
          keepBodies: false,
        },
      },
      limit: entry.concurrency,
      timeoutMs: entry.timeoutMs,
      maxAgeMs: entry.retry.maxAgeMs,
    },
  };
}
