import type { TestRedis } from "../support/redis.ts";
import { startChild } from "./child.ts";
import type { LoadOrder, LoadReport } from "./load.ts";
import { median } from "./statistics.ts";

export type IngestSide = "davit" | "plain" | "ceiling";

const SERVERS: Record<IngestSide, string> = {
  davit: "servers/davit-gateway.ts",
  plain: "servers/plain-recipe.ts",
  ceiling: "servers/ceiling.ts",
};
/** Node compiles hot code only after thousands of calls; a server runs for weeks. */
const WARM_UP_SHARE = 0.6;

export interface IngestResult {
  /** Requests a second of each round. */
  readonly rps: Readonly<Record<IngestSide, readonly number[]>>;
  /** Median of the rounds' 99th percentiles, ms. */
  readonly p99Ms: Readonly<Record<IngestSide, number>>;
}

/** One server in a fresh process on an emptied Redis, under the load generator. Throws when an answer was not 2xx. */
async function measure(redis: TestRedis, side: IngestSide, requests: number): Promise<LoadReport> {
  await redis.client().flushall();
  const server = await startChild<{ port: number }>(SERVERS[side], { redisUrl: redis.url });
  const load = await startChild("load.ts", { redisUrl: redis.url });
  try {
    const warmUp = Math.ceil(requests * WARM_UP_SHARE);
    const order: LoadOrder = { port: server.ready.port, requests, warmUp };
    const report = await load.ask<LoadReport>(order);
    if (report.failed > 0) throw new Error(`${side} answered ${report.failed} of ${requests} requests with an error`);
    return report;
  } finally {
    await Promise.all([load.stop(), server.stop()]);
  }
}

/** All sides in turn, several times over: what disturbs the machine then disturbs them alike. */
export async function benchIngest(redis: TestRedis, rounds: number, requests: number): Promise<IngestResult> {
  const rps: Record<IngestSide, number[]> = { davit: [], plain: [], ceiling: [] };
  const p99: Record<IngestSide, number[]> = { davit: [], plain: [], ceiling: [] };
  for (let round = 0; round < rounds; round++) {
    for (const side of ["davit", "plain", "ceiling"] as const) {
      const report = await measure(redis, side, requests);
      rps[side].push(report.rps);
      p99[side].push(report.p99Ms);
    }
  }
  return { rps, p99Ms: { davit: median(p99.davit), plain: median(p99.plain), ceiling: median(p99.ceiling) } };
}
