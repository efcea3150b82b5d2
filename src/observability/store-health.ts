import type { Metrics } from "./metrics.ts";

/** What a store's monitor saw; structurally `CustodyHealth`. */
interface StoreHealth {
  readonly up: boolean;
  readonly durable: { readonly ok: boolean; readonly source: string };
  readonly memoryRatio: number;
  readonly clockOffsetMs: number;
}

/** Puts what the monitor saw into the gauges. */
export function recordStoreHealth(metrics: Metrics, { up, durable, memoryRatio, clockOffsetMs }: StoreHealth): void {
  metrics.redisUp.set(up ? 1 : 0);
  // The source may change at a reconnect: only the present one has a series.
  metrics.redisDurable.reset();
  metrics.redisDurable.set({ source: durable.source }, durable.ok ? 1 : 0);
  metrics.redisMemoryRatio.set(memoryRatio);
  metrics.clockOffset.set(clockOffsetMs / 1_000);
}
