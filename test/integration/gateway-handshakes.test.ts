import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SECRET } from "../../src/gateway/testing.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { sendTo } from "../support/gateway.ts";
import { keyFor, type GatewayOverRedis, providerRoute, startGatewayOverRedis } from "../support/gateway-over-redis.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { keptEvents } from "../support/kept-events.ts";

let redis: TestRedis;
let running: GatewayOverRedis;
beforeEach(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  redis.thaw();
  await running.close();
  await redis.stop();
});

async function serve(provider: string, changes: Partial<RouteEntry> = {}): Promise<GatewayOverRedis> {
  running = await startGatewayOverRedis(redis, [providerRoute(provider, changes)]);
  return running;
}

const kept = async () =>
  (await running.ledger.handshakes("0123456789abcdef")).map(({ kind, value, client }) => [
    kind,
    value.reveal().toString(),
    client,
  ]);
const events = () => keptEvents(running.operations, "0123456789abcdef");
const counted = async (outcome: string) =>
  new RegExp(`ingest_requests_total\\{[^}]*outcome="${outcome}"\\} (\\d+)`).exec(
    await running.metrics.registry.metrics(),
  )?.[1];

/** As Slack signs. */
function slack(body: string, secret = SECRET) {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const digest = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
  return {
    body,
    headers: {
      "x-slack-request-timestamp": timestamp,
      "x-slack-signature": `v0=${digest}`,
      "content-type": "application/json",
    },
  };
}

describe("a handshake that is signed", () => {
  const challenge = JSON.stringify({
    type: "url_verification",
    challenge: "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P",
  });

  test("is answered as the provider demands it, and is no event", async () => {
    const answer = await sendTo(await serve("slack"), slack(challenge));
    expect(answer).toMatchObject({
      status: 200,
      text: "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P",
      headers: {
        "content-type": "text/plain",
        "content-length": "52",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      },
    });
    expect(await events()).toEqual([]);
    expect(await counted("handshake")).toBe("1");
    expect(running.log()).toContain('"handshake":"url_verification"');
    expect(running.log()).not.toContain("3eZbrw1aBm2rZgRN");
  });

  test("is refused with a wrong signature, as an event would be", async () => {
    const answer = await sendTo(await serve("slack"), slack(challenge, "another secret"));
    expect([answer.status, answer.text]).toEqual([401, expect.stringContaining("SignatureMismatch")]);
    expect(await counted("handshake")).toBe("0");
  });

  test("gives its place back, so that the next request is taken", async () => {
    await serve("slack", { limits: { maxBodyBytes: 1_000, maxInFlightPerPod: 1, maxBacklog: 1 } });
    for (let n = 0; n < 3; n++) expect((await sendTo(running, slack(challenge))).status).toBe(200);
  });

  test("leaves events alone", async () => {
    const event = await sendTo(await serve("slack"), slack('{"type":"event_callback","event_id":"Ev1"}'));
    expect(event.status).toBe(200);
    expect(await events()).toHaveLength(1);
  });
});

describe("the methods of handshakes", () => {
  const query = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=";

  test("are let in where the request is one, with the route's token", async () => {
    await serve("meta", { keys: [keyFor("Signing", SECRET), keyFor("VerifyToken", "tell-me")] });
    expect(await sendTo(running, { method: "GET", path: `/push?${query}tell-me` })).toMatchObject({
      status: 200,
      text: "1158201444",
    });
    const wrong = await sendTo(running, { method: "GET", path: `/push?${query}${SECRET}` });
    expect([wrong.status, wrong.text]).toEqual([403, expect.stringContaining("VerifyTokenMismatch")]);
  });

  test.each([
    ["GET", "/push", "POST"],
    ["DELETE", "/push", "POST"],
    ["DELETE", `/push?${query}x`, "POST, GET"],
    ["HEAD", `/push?${query}x`, "POST, GET"],
  ])("%s %s is answered with 405 and Allow: %s", async (method, path, allow) => {
    const answer = await sendTo(await serve("meta"), { method, path });
    expect(answer).toMatchObject({ status: 405, headers: { allow } });
  });

  test("HEAD is answered without a body, and only where the provider has it", async () => {
    await serve("trello");
    expect(await sendTo(running, { method: "HEAD" })).toMatchObject({
      status: 200,
      text: "",
      headers: { "content-length": "0" },
    });
    expect((await sendTo(running, { method: "GET" })).status).toBe(405);
    await running.close();
    await serve("github");
    expect((await sendTo(running, { method: "HEAD" })).status).toBe(405);
  });

  test("are subject to the route's limits and sources", async () => {
    await serve("trello", { allowedSourceRanges: ["192.0.2.0/24"] });
    expect((await sendTo(running, { method: "HEAD" })).status).toBe(403);
    await running.close();
    await serve("trello", { suspend: "Ingest" });
    expect((await sendTo(running, { method: "HEAD" })).status).toBe(503);
  });
});

describe("a secret that a provider hands over", () => {
  const notion = {
    body: '{"verification_token":"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"}',
    headers: { "content-type": "application/json" },
  };

  test("is kept for the operator while the route has no key, and is nowhere in the log", async () => {
    await serve("notion", { keys: [] });
    expect((await sendTo(running, notion)).status).toBe(200);
    expect(await kept()).toEqual([
      ["verification-token", "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl", "127.0.0.1"],
    ]);
    expect(running.log()).not.toContain("secret_tMrlL1qK5vuQ");
    expect(await events()).toEqual([]);
  });

  test("is refused once the route has a usable key, and kept when its key has run out", async () => {
    await serve("notion");
    const refused = await sendTo(running, notion);
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining("HandshakeClosed")]);
    expect(await kept()).toEqual([]);
    await running.close();
    await serve("notion", { keys: [{ ...keyFor("Signing", SECRET), notAfter: Date.now() - 1 }] });
    expect((await sendTo(running, notion)).status).toBe(200);
  });

  test("goes back in the header that the provider wants", async () => {
    await serve("asana", { keys: [] });
    const answer = await sendTo(running, {
      body: "{}",
      headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559e8bd39d6" },
    });
    expect(answer).toMatchObject({
      status: 200,
      text: "",
      headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559e8bd39d6" },
    });
    expect(await kept()).toEqual([["hook-secret", "b537207f20cbfa02357cf448134da559e8bd39d6", "127.0.0.1"]]);
  });

  test("is not acknowledged when the store does not confirm it", async () => {
    await serve("asana", { keys: [] });
    redis.freeze();
    const answer = await sendTo(running, {
      body: "{}",
      headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559e8bd39d6" },
    });
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": expect.stringMatching(/^\d+$/) } });
    expect(answer.headers["x-hook-secret"]).toBeUndefined();
  });
});
