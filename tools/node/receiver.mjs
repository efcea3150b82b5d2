// The destination of the end-to-end run: counts what it is sent, by the number in the body; GET says how often each came.
import { createServer } from "node:http";

/** @type {Record<string, number>} */
const seen = {};

createServer((request, response) => {
  if (request.method === "GET") {
    response.end(JSON.stringify(seen));
    return;
  }
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    const { number } = JSON.parse(body);
    seen[number] = (seen[number] ?? 0) + 1;
    response.end();
  });
}).listen(8080);
process.on("SIGTERM", () => process.exit(0));
