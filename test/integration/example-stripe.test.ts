import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { heldPort } from "../support/held-port.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

let redis: TestRedis | undefined;
afterEach(() => redis?.stop());

test("the Stripe example takes an event once, works it off and ends on SIGTERM", async () => {
  redis = await startRedis();
  const secret = "whsec_example_secret_0123";
  const port = await heldPort();
  const child = spawn(process.execPath, ["examples/stripe/main.ts"], {
    env: { ...process.env, REDIS_URL: redis.url, PORT: String(port), STRIPE_WEBHOOK_SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let output = "";
  const line = (wanted: string) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (output.includes(wanted)) resolve();
      };
      child.stdout.on("data", look);
      look();
    });
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await line("Stripe webhooks:");
  const body = '{"id":"evt_1","type":"charge.succeeded"}';
  const post = () => {
    const t = Math.floor(Date.now() / 1_000);
    const signature = `t=${t},v1=${createHmac("sha256", secret).update(`${t}.${body}`).digest("hex")}`;
    const headers = { "stripe-signature": signature, "content-type": "application/json" };
    return fetch(`http://127.0.0.1:${port}/stripe`, { method: "POST", body, headers });
  };
  let first = await post();
  for (let tries = 0; first.status === 503 && tries < 50; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    first = await post();
  }
  expect(await first.json()).toMatchObject({ replayed: false });
  expect(await (await post()).json()).toMatchObject({ replayed: true });
  await line("charge.succeeded");
  child.kill("SIGTERM");
  expect((await exited)[0]).toBe(0);
  expect(output.match(/charge\.succeeded/g)).toHaveLength(1);
});
