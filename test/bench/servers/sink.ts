// Where deliveries arrive: reads the body, answers 200, and tells when the wanted number of requests is in.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "../child.ts";

/** ms between the first and the last of the wanted requests. */
export interface SinkReport {
  readonly seconds: number;
}

let wanted = 0;
let count = 0;
let startedAt = 0;
let report: ((report: SinkReport) => void) | undefined;

const server = createServer((request, response) => {
  if (count++ === 0) startedAt = performance.now();
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-length": 2 });
    response.end("ok");
    if (--wanted === 0) report?.({ seconds: (performance.now() - startedAt) / 1_000 });
  });
});
server.keepAliveTimeout = 60_000;
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

serve({ port: (server.address() as AddressInfo).port }, (order: { readonly requests: number }) => {
  wanted = order.requests;
  count = 0;
  return new Promise<SinkReport>((resolve) => {
    report = resolve;
  });
});
