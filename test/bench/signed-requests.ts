import { createHmac, randomUUID } from "node:crypto";
import { BODY_BYTES, PATH, SECRET } from "./settings.ts";

/** A JSON body of exactly `BODY_BYTES` bytes that names its id. */
export function benchBody(id: string): Buffer {
  const head = `{"id":"${id}","type":"order.paid","data":"`;
  const tail = '"}';
  return Buffer.from(head + "x".repeat(BODY_BYTES - head.length - tail.length) + tail);
}

/** Whole HTTP/1.1 requests as bytes, signed as the queue-push preset wants it, each with an id of its own. */
export function signedRequests(count: number): Buffer[] {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  return Array.from({ length: count }, () => {
    const id = randomUUID();
    const body = benchBody(id);
    const signature = createHmac("sha256", SECRET).update(`${timestamp}.`).update(body).digest("hex");
    const head = [
      `POST ${PATH} HTTP/1.1`,
      "Host: 127.0.0.1",
      "User-Agent: bench",
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
      `X-Delivery-ID: ${id}`,
      `X-Delivery-Timestamp: ${timestamp}`,
      `X-Delivery-Signature: sha256=${signature}`,
      "\r\n",
    ].join("\r\n");
    return Buffer.concat([Buffer.from(head), body]);
  });
}
