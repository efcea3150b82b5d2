import type { TestRedis } from "../support/redis.ts";
import { startChild } from "./child.ts";
import type { LoadOrder, LoadReport } from "./load.ts";
import type { SinkReport } from "./servers/sink.ts";

export type DeliverySide = "davit" | "ceiling";

export interface DeliveryResult {
  /** Deliveries a second of each round. */
  readonly rps: Readonly<Record<DeliverySide, readonly number[]>>;
}

/** Queues events as senders would: through Davit's own gateway. */
async function queueEvents(redis: TestRedis, requests: number): Promise<void> {
  await redis.client().flushall();
  const gateway = await startChild<{ port: number }>("servers/davit-gateway.ts", { redisUrl: redis.url });
  const load = await startChild("load.ts", { redisUrl: redis.url });
  try {
    const order: LoadOrder = { port: gateway.ready.port, requests, warmUp: 0 };
    const { failed } = await load.ask<LoadReport>(order);
    if (failed > 0) throw new Error(`the gateway refused ${failed} of ${requests} events`);
  } finally {
    await Promise.all([load.stop(), gateway.stop()]);
  }
}

/** Deliveries a second, by the sink's own clock from its first request to its last. */
async function measure(redis: TestRedis, side: DeliverySide, requests: number): Promise<number> {
  if (side === "davit") await queueEvents(redis, requests);
  const sink = await startChild<{ port: number }>("servers/sink.ts", { redisUrl: redis.url });
  const sinkUrl = `http://127.0.0.1:${sink.ready.port}/`;
  const file = side === "davit" ? "servers/davit-worker.ts" : "servers/bare-loop.ts";
  const sender = await startChild(file, { redisUrl: redis.url, sinkUrl });
  try {
    const arrived = sink.ask<SinkReport>({ requests });
    await sender.ask({ requests });
    return requests / (await arrived).seconds;
  } finally {
    await Promise.all([sender.stop(), sink.stop()]);
  }
}

/** Both sides in turn, several times over. */
export async function benchDelivery(redis: TestRedis, rounds: number, requests: number): Promise<DeliveryResult> {
  const rps: Record<DeliverySide, number[]> = { davit: [], ceiling: [] };
  for (let round = 0; round < rounds; round++) {
    for (const side of ["davit", "ceiling"] as const) rps[side].push(await measure(redis, side, requests));
  }
  return { rps };
}

/** Bytes of Redis memory per queued 1 KiB event, with dedupe mark, lane and log: `used_memory` before and after. */
export async function bytesPerEvent(redis: TestRedis, events: number): Promise<number> {
  const client = redis.client();
  const used = async () => Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
  await client.flushall();
  // A first few events load the scripts and make the indexes, which a full queue does not make again.
  await queueEvents(redis, 64);
  const before = await used();
  await queueEvents(redis, 64 + events);
  return ((await used()) - before) / events;
}
