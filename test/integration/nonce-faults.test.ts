import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SECRET } from "../../src/gateway/testing.ts";
import { sendTo } from "../support/gateway.ts";
import { type GatewayOverRedis, providerRoute, startGatewayOverRedis } from "../support/gateway-over-redis.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { keptEvents } from "../support/kept-events.ts";

const ROUNDS = 6;
const BODIES = 12;

let redis: TestRedis;
let running: GatewayOverRedis;
const route = providerRoute("mailgun");
beforeEach(async () => {
  redis = await startRedis();
  running = await startGatewayOverRedis(redis, [route]);
});
afterEach(async () => {
  await running.close();
  await redis.stop();
});

/** Bodies that bear one signature, which covers none of them. */
function rivals(token: string): readonly string[] {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", SECRET)
    .update(timestamp + token)
    .digest("hex");
  return Array.from({ length: BODIES }, (_, n) =>
    JSON.stringify({ signature: { timestamp, token, signature }, "event-data": { id: `${token.slice(0, 8)}-${n}` } }),
  );
}

const statusOf = async (body: string) => {
  const { status } = await sendTo(running, { body, headers: { "content-type": "application/json" } });
  return status;
};

/** As a sender does: again as long as the answer is 503. */
async function insist(body: string): Promise<number> {
  for (;;) {
    const status = await statusOf(body);
    if (status !== 503) return status;
    await sleep(50);
  }
}

describe("a signature that does not cover the body, while Redis is killed between claim and answer", () => {
  it("is good for one body in the end, the one that was acknowledged if any was", async () => {
    const cut = { before: 0, after: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const bodies = rivals(`${round}`.padEnd(50, "t"));
      const first = bodies.map(statusOf);
      await sleep(round * 2);
      await redis.kill9();
      const early = await Promise.all(first);
      await redis.restart();
      const late = await Promise.all(bodies.map(insist));
      const acknowledged = bodies.filter((_, n) => early[n] === 200 || late[n] === 200);
      expect(acknowledged, `round ${round}: ${early.join(" ")} | ${late.join(" ")}`).toHaveLength(1);
      expect(late.filter((status) => status === 401)).toHaveLength(BODIES - 1);
      cut[early.includes(503) ? "before" : "after"] += 1;
    }
    const events = await keptEvents(running.operations, route.route);
    expect(events).toHaveLength(ROUNDS);
    // Else nothing was cut off.
    expect(cut.before).toBeGreaterThan(0);
  });
});
