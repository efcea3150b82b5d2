import { createHash } from "node:crypto";
import { ulid } from "ulid";
import type { Inbox, NewEvent, RoutePolicy } from "../../../src/custody/port.ts";
import { BODY_BYTES } from "../settings.ts";

/** Claims under way at a time: enough for full batches. */
const FLYING = 512;

/** Unix ms with fractions: comparable between the processes of one machine. */
export const wallClock = (): number => performance.timeOrigin + performance.now();

/** A JSON body of `BODY_BYTES` bytes that begins with the time it was made at, see {@link madeAt}. */
export function stampedBody(at: number): Buffer {
  const head = `{"at":${at.toFixed(3)},"data":"`;
  return Buffer.from(`${head}${"x".repeat(BODY_BYTES - head.length - 2)}"}`);
}

/** The time that {@link stampedBody} wrote, from the body's first bytes. */
export function madeAt(body: Buffer): number {
  return Number.parseFloat(body.toString("latin1", 6, 24));
}

/** An event with a mark of its own, as the gateway makes them, one copy for each id. */
export function benchEvent(policy: RoutePolicy, ids: readonly string[]): NewEvent {
  const id = ulid();
  const key = createHash("sha256").update(id).digest().subarray(0, 16);
  return {
    id,
    policy,
    mark: { key, weak: false },
    headers: { "content-type": "application/json" },
    body: stampedBody(wallClock()),
    seq: 1,
    eventType: "order.paid",
    destinations: ids.map((destination) => ({ destination, limit: 64 })),
  };
}

/** Claims one event after the other as fast as the store confirms them. `idsOf`: the destinations of the n-th. */
export async function queue(
  inbox: Inbox,
  policy: RoutePolicy,
  events: number,
  idsOf: (at: number) => readonly string[],
): Promise<void> {
  let next = 0;
  const run = async () => {
    while (next < events) await inbox.claim(benchEvent(policy, idsOf(next++)));
  };
  await Promise.all(Array.from({ length: FLYING }, run));
}
