import type { TestRedis } from "../../support/redis.ts";
import { usedMemory } from "./meters.ts";
import { type Group, idsOf } from "./plan.ts";
import { Stage } from "./stage.ts";

/** Most copies that an event may have. */
const MOST_DESTINATIONS = 32;
const WARM_UP = 64;
const NAMESPACE = "memory";

/** Bytes of Redis memory per event: while its copies wait, and when all are delivered. */
export interface EventBytes {
  readonly waiting: number;
  readonly delivered: number;
}

/** Of events with one destination, and with 32. */
export interface MemoryResult {
  readonly one: EventBytes;
  readonly most: EventBytes;
}

/** What each further destination costs an event, bytes: the more expensive of waiting and delivered. */
export function bytesPerDestination({ one, most }: MemoryResult): number {
  const further = MOST_DESTINATIONS - 1;
  return Math.max((most.waiting - one.waiting) / further, (most.delivered - one.delivered) / further);
}

async function eventBytes(redis: TestRedis, destinations: number, events: number): Promise<EventBytes> {
  const group: Group = { name: "copy", count: destinations, concurrency: 64, gated: true };
  const ids = idsOf(group);
  return Stage.run(redis, async (stage) => {
    const client = redis.client();
    // The first few make what all events share: scripts, indexes, gates, queues.
    await stage.queue(NAMESPACE, WARM_UP, () => ids);
    await deliver(stage, group, WARM_UP * destinations);
    const before = await usedMemory(client);
    await stage.queue(NAMESPACE, events, () => ids);
    const waiting = ((await usedMemory(client)) - before) / events;
    await deliver(stage, group, events * destinations);
    const delivered = ((await usedMemory(client)) - before) / events;
    client.disconnect();
    return { waiting, delivered };
  });
}

/** Everything that waits, by a worker that comes and goes: its connections take memory, too. */
async function deliver(stage: Stage, group: Group, copies: number): Promise<void> {
  const worker = await stage.worker(NAMESPACE, [group]);
  try {
    const arrived = stage.arrived(group, copies);
    await worker.ask("start");
    await arrived;
    await worker.ask("stop");
  } finally {
    await worker.stop();
  }
}

/** `used_memory` before and after. */
export async function benchMemory(redis: TestRedis, events: number): Promise<MemoryResult> {
  return { one: await eventBytes(redis, 1, events), most: await eventBytes(redis, MOST_DESTINATIONS, events) };
}
