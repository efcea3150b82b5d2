import type { TakenCopy } from "../../src/custody/port.ts";

/** A copy as a worker takes it, with sensible values for what a test does not care about. */
export function takenCopy(overrides: Partial<TakenCopy> = {}): TakenCopy {
  return {
    destination: "00000000000000ab/orders",
    eventId: "01J0000000000000000000TEST",
    fence: 1,
    attempt: 1,
    used: 1,
    firstAttemptAt: 0,
    now: 0,
    receivedAt: 0,
    sequence: 1,
    seq: 1,
    headers: { "content-type": "application/json" },
    eventType: undefined,
    body: Buffer.from('{"n":1}'),
    ...overrides,
  };
}
