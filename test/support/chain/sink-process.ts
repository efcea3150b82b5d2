// A destination that logs each request it answers with 2xx, one line of event id and attempt, before it answers.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const file = process.env["SINK_LOG"] ?? "";
const failEvery = Number(process.env["SINK_FAIL_EVERY"] ?? 0);
const status = Number(process.env["SINK_STATUS"] ?? 200);
const delayMs = Number(process.env["SINK_DELAY_MS"] ?? 0);
let requests = 0;

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    requests++;
    if (failEvery > 0 && requests % failEvery === 0) {
      response.writeHead(503).end();
      return;
    }
    appendFileSync(file, `${String(request.headers["webhook-id"])} ${String(request.headers["davit-attempt"])}\n`);
    if (delayMs > 0) setTimeout(() => response.writeHead(status).end("ok"), delayMs);
    else response.writeHead(status).end("ok");
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 });
});
