// What a careful team writes with Express and BullMQ for the same protocol, answer by answer: raw body, one KeyObject, constant-time check, timestamp window,
// SET NX as the dedupe mark, then queue.add. When the add fails the mark is taken back, so that the sender's retry counts.
import { createHmac, createSecretKey } from "node:crypto";
import { createServer } from "node:http";
import { Queue } from "bullmq";
import express, { type Request, type Response } from "express";
import { Redis } from "ioredis";
import { equals } from "../../../src/lib/equals.ts";
import { childSettings, PATH, SECRET } from "../settings.ts";
import { listen } from "./listen.ts";

const WINDOW_SECONDS = 7 * 86_400;
const TOLERANCE_SECONDS = 300;

const { redisUrl } = childSettings();
const redis = new Redis(redisUrl);
const queue = new Queue("webhooks", {
  connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
  defaultJobOptions: { attempts: 4, backoff: { type: "exponential", delay: 1_000 }, removeOnComplete: true },
});
const key = createSecretKey(Buffer.from(SECRET));

function isGenuine(request: Request, body: Buffer): boolean {
  const timestamp = request.get("x-delivery-timestamp") ?? "";
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) <= TOLERANCE_SECONDS)) return false;
  const signature = request.get("x-delivery-signature") ?? "";
  const expected = createHmac("sha256", key).update(`${timestamp}.`).update(body).digest();
  return signature.startsWith("sha256=") && equals(expected, Buffer.from(signature.slice(7), "hex"));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function receive(request: Request, response: Response): Promise<void> {
  const id = request.get("x-delivery-id");
  const body: unknown = request.body;
  if (id === undefined || !Buffer.isBuffer(body)) {
    response.status(400).end();
    return;
  }
  if (!isGenuine(request, body)) {
    response.status(401).end();
    return;
  }
  const text = body.toString();
  if (!isJson(text)) {
    response.status(422).end();
    return;
  }
  const mark = `seen:${id}`;
  const isNew = await redis.set(mark, "1", "EX", WINDOW_SECONDS, "NX");
  if (isNew === "OK") {
    try {
      const headers = { "content-type": request.get("content-type") };
      await queue.add("webhook", { id, body: text, headers, receivedAt: Date.now() }, { jobId: id });
    } catch (error) {
      await redis.del(mark);
      throw error;
    }
  }
  response.status(204).end();
}

const app = express();
app.disable("x-powered-by");
app.post(PATH, express.raw({ type: "*/*", limit: "256kb" }), receive);
await queue.waitUntilReady();
await listen(createServer(app));
