// A sender that repeats each delivery until it is acknowledged, as providers do, and logs each acknowledgement: delivery id and event id.
import { createHmac } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { CHAIN_SECRET } from "./route.ts";

const { url, count, inFlight, log, prefix } = JSON.parse(process.env["PRODUCER"] ?? "{}") as {
  url: string;
  count: number;
  inFlight: number;
  log: string;
  prefix: string;
};
const pool = new Pool(url, { connections: inFlight, headersTimeout: 5_000, bodyTimeout: 5_000 });

async function post(id: string): Promise<string | undefined> {
  const body = JSON.stringify({ id, filler: "x".repeat(200) });
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", CHAIN_SECRET).update(`${timestamp}.${body}`).digest("hex");
  const headers = {
    host: "hooks.example.com",
    "content-type": "application/json",
    "x-delivery-id": id,
    "x-delivery-timestamp": timestamp,
    "x-delivery-signature": `sha256=${signature}`,
  };
  const response = await pool.request({ path: "/in", method: "POST", headers, body });
  await response.body.dump();
  if (response.statusCode >= 200 && response.statusCode < 300) return String(response.headers["davit-event-id"]);
  if (response.statusCode !== 503 && response.statusCode !== 429)
    throw new Error(`unexpected status ${response.statusCode}`);
  return undefined;
}

let next = 0;
async function send(): Promise<void> {
  for (let n = next++; n < count; n = next++) {
    const id = `${prefix}${n}`;
    for (;;) {
      const event = await post(id).catch((error: unknown) => {
        if (error instanceof Error && error.message.startsWith("unexpected status")) throw error;
        return undefined;
      });
      if (event !== undefined) {
        appendFileSync(log, `${id} ${event}\n`);
        break;
      }
      await sleep(50);
    }
  }
}

await Promise.all(Array.from({ length: inFlight }, send));
await pool.close();
process.send?.("sent");
