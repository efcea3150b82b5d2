// Where deliveries of the part `fairness` arrive: each group of destinations has a path, `/slow` answers late, or 410 once told so.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "../child.ts";
import { madeAt, wallClock } from "../fairness/queue.ts";

/** How long `/slow` takes for an answer, ms. */
const SLOW_MS = 1_000;

/** Await so many deliveries at a path, reckoned from the order on; or have `/slow` say that it is gone. */
export type FairnessOrder =
  | { readonly type: "await"; readonly path: string; readonly requests: number }
  | { readonly type: "gone" };

export interface FairnessReport {
  /** From the first request to the last. */
  readonly seconds: number;
  /** From the claim of each event to its arrival, ms, in the order of arrival. */
  readonly latencies: readonly number[];
}

interface Awaited {
  readonly path: string;
  readonly requests: number;
  readonly latencies: number[];
  startedAt: number;
  readonly report: (report: FairnessReport) => void;
}

let awaited: Awaited | undefined;
let gone = false;

function note(path: string, body: Buffer): void {
  if (awaited === undefined || awaited.path !== path) return;
  const now = wallClock();
  if (awaited.latencies.length === 0) awaited.startedAt = now;
  awaited.latencies.push(now - madeAt(body));
  if (awaited.latencies.length < awaited.requests) return;
  awaited.report({ seconds: (now - awaited.startedAt) / 1_000, latencies: awaited.latencies });
  awaited = undefined;
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-length": 2 });
  response.end("ok");
}

const server = createServer((request, response) => {
  const { url = "" } = request;
  let head: Buffer | undefined;
  request.on("data", (chunk: Buffer) => (head ??= chunk));
  request.on("end", () => {
    note(url, head ?? Buffer.alloc(0));
    if (url !== "/slow") return answer(response, 200);
    if (gone) return answer(response, 410);
    setTimeout(() => answer(response, 200), SLOW_MS);
  });
});
server.keepAliveTimeout = 60_000;
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

serve({ port: (server.address() as AddressInfo).port }, async (order: FairnessOrder) => {
  gone = order.type === "gone";
  if (order.type === "gone") return "gone";
  return new Promise<FairnessReport>((report) => {
    awaited = { path: order.path, requests: order.requests, latencies: [], startedAt: 0, report };
  });
});
