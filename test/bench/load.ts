// The load generator's process. Asked for a run, it signs all requests first, warms the server up, then measures.
import { serve } from "./child.ts";
import { closedLoop } from "./closed-loop.ts";
import { CONNECTIONS } from "./settings.ts";
import { signedRequests } from "./signed-requests.ts";
import { percentile } from "./statistics.ts";

export interface LoadOrder {
  readonly port: number;
  readonly requests: number;
  readonly warmUp: number;
}

export interface LoadReport {
  readonly rps: number;
  readonly p99Ms: number;
  readonly failed: number;
}

serve("ready", async ({ port, requests, warmUp }: LoadOrder): Promise<LoadReport> => {
  const prepared = signedRequests(warmUp + requests);
  const first = await closedLoop(port, prepared.slice(0, warmUp), CONNECTIONS);
  const measured = await closedLoop(port, prepared.slice(warmUp), CONNECTIONS);
  return {
    rps: requests / measured.seconds,
    p99Ms: percentile(measured.latencies, 0.99),
    failed: first.failed + measured.failed,
  };
});
