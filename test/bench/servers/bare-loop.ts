// Upper bound of delivery with this HTTP client: undici in a closed loop that sends the very request a worker sends (body, headers, a fresh
// signature), over as many connections to the same destination. It takes from nowhere, decides nothing and keeps nothing.
import { createHmac, createSecretKey } from "node:crypto";
import { Pool } from "undici";
import { serve } from "../child.ts";
import { childSettings, CONNECTIONS, NAMESPACE, SECRET } from "../settings.ts";
import { benchBody } from "../signed-requests.ts";

const pool = new Pool(childSettings().sinkUrl ?? "", { connections: CONNECTIONS });
const body = benchBody("bench");
const key = createSecretKey(Buffer.from(SECRET));
const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

function signedHeaders(): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  return {
    "user-agent": "davit",
    "davit-route": `${NAMESPACE}/bench`,
    "webhook-id": id,
    "idempotency-key": id,
    "davit-attempt": "1",
    "davit-sequence": "7344128000000000",
    "content-type": "application/json",
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}

serve("ready", async ({ requests }: { readonly requests: number }) => {
  let left = requests;
  const loop = async () => {
    while (left-- > 0) {
      const answer = await pool.request({ path: "/", method: "POST", headers: signedHeaders(), body });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  return "done";
});
