// Upper bound of ingest in this language: bare node:http that reads the body, checks the HMAC and answers. It stores nothing.
import { createHmac, createSecretKey } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { equals } from "../../../src/lib/equals.ts";
import { SECRET } from "../settings.ts";
import { listen } from "./listen.ts";

const key = createSecretKey(Buffer.from(SECRET));

function isGenuine({ headers }: IncomingMessage, body: Buffer): boolean {
  const expected = createHmac("sha256", key)
    .update(`${String(headers["x-delivery-timestamp"])}.`)
    .update(body)
    .digest();
  const signature = String(headers["x-delivery-signature"]).slice("sha256=".length);
  return equals(expected, Buffer.from(signature, "hex"));
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const [only] = chunks;
    const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
    response.writeHead(isGenuine(request, body) ? 204 : 401).end();
  });
});

await listen(server);
