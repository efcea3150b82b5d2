import assert from "node:assert/strict";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { signAs } from "../../src/verification/verifier.ts";
import { keysOf } from "../../src/verification/vectors.ts";
import { HOST, ringKey, routeEntry, SECRET } from "../../src/gateway/testing.ts";
import { startGateway, type Running } from "../support/gateway.ts";

const LIMIT = 2_048;
const small = { maxBodyBytes: LIMIT, maxInFlightPerPod: 1_000, maxBacklog: 1_000_000 };

let running: Running;
beforeEach(async () => {
  running = await startGateway([
    routeEntry({ limits: small, payload: { format: "JSON", requiredFields: ["run_id"] } }),
    routeEntry({ limits: small, path: "/empty", route: "1111111111111111", keys: [ringKey("")] }),
    routeEntry({ limits: small, path: "/none", route: "2222222222222222", keys: [] }),
  ]);
});
afterEach(async () => {
  // Whatever was sent: nothing was claimed, and the gateway still takes a good request.
  assert.deepEqual(running.inbox.claimed, []);
  const good = Buffer.from('{"run_id":"ok"}');
  assert.match(await running.raw(rawPost(signed(good), good)), /^HTTP\/1\.1 204 /);
  await running.gateway.close(0);
});

function signed(body: Buffer, id = "d-1"): Record<string, string> {
  const input = { method: "POST", url: "", path: "/push", body, id };
  return signAs({ type: "provider", provider: "queue-push" }, keysOf([SECRET]), input, Date.now());
}

function rawPost(headers: Record<string, string>, body: Buffer, extra: readonly string[] = []): string {
  const lines = [
    "POST /push HTTP/1.1",
    `Host: ${HOST}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...extra,
  ];
  if (!/content-length|transfer-encoding/i.test(lines.join("\n"))) lines.push(`Content-Length: ${body.length}`);
  return `${lines.join("\r\n")}\r\n\r\n${body.toString("latin1")}`;
}

const statusOf = (response: string) => Number(response.slice(9, 12));
const errorOf = (response: string) => /"error":"(\w+)"/.exec(response)?.[1];

function chunked(body: Buffer, size: number): string {
  let text = "";
  for (let at = 0; at < body.length; at += size) {
    const piece = body.subarray(at, at + size);
    text += `${piece.length.toString(16)}\r\n${piece.toString("latin1")}\r\n`;
  }
  return `${text}0\r\n\r\n`;
}

/** Writes a head and then zeros, whatever comes back, until the other side ends the connection. */
async function sendWithoutEnd(port: number, head: string): Promise<{ received: string; sent: number }> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const state = { received: "", sent: 0 };
  const piece = Buffer.alloc(65_536);
  const pump = () => {
    do state.sent += piece.length;
    while (socket.write(piece));
  };
  socket.on("data", (data) => {
    state.received += data.toString("latin1");
  });
  socket.on("drain", pump);
  socket.on("error", () => undefined);
  socket.write(head, pump);
  await new Promise((resolve) => {
    socket.on("close", resolve);
  });
  return state;
}

const GOOD = Buffer.from('{"run_id":"r-1"}');

describe("a body that is too large", () => {
  it("is refused with 413 by its Content-Length, before any of it is sent", async () => {
    const head = rawPost(signed(GOOD), Buffer.alloc(0), [`Content-Length: ${LIMIT + 1}`]);
    const response = await running.raw(head);
    expect([statusOf(response), errorOf(response)]).toEqual([413, "BodyTooLarge"]);
  });

  it("is refused with 413 at the cap when it is chunked, and the connection ends without draining it", async () => {
    const body = Buffer.alloc(LIMIT * 4, 0x20);
    const head = rawPost(signed(body), Buffer.alloc(0), ["Transfer-Encoding: chunked"]);
    const response = await running.raw(head + chunked(body, 1_000));
    expect([statusOf(response), errorOf(response)]).toEqual([413, "BodyTooLarge"]);
    expect(response).toMatch(/connection: close/i);
  });

  it("is answered although gigabytes are promised, and a sender that goes on is cut off", async () => {
    const head = rawPost(signed(GOOD), Buffer.alloc(0), [`Content-Length: ${8 * 2 ** 30}`]);
    const { received, sent } = await sendWithoutEnd(Number(new URL(running.url).port), head);
    expect(statusOf(received)).toBe(413);
    expect(sent).toBeLessThan(64 * 2 ** 20);
  });

  it("is refused before 100 Continue invites it", async () => {
    const head = rawPost(signed(GOOD), Buffer.alloc(0), [`Content-Length: ${LIMIT + 1}`, "Expect: 100-continue"]);
    const response = await running.raw(head);
    expect(response).not.toContain("100 Continue");
    expect(statusOf(response)).toBe(413);
  });
});

describe("a body that does not arrive as promised", () => {
  it("stores nothing when the connection ends early", async () => {
    const response = await running.raw(rawPost(signed(GOOD), GOOD.subarray(0, 5), [`Content-Length: ${GOOD.length}`]), {
      halfClose: true,
    });
    expect([0, 400]).toContain(statusOf(response));
    await sleep(20);
    expect(await running.metrics.registry.metrics()).toContain('route="push",outcome="aborted"} 1');
  });

  it("refuses the bytes that a too small Content-Length leaves out", async () => {
    const response = await running.raw(rawPost(signed(GOOD), GOOD, ["Content-Length: 4"]));
    expect([statusOf(response), errorOf(response)]).toEqual([401, "SignatureMismatch"]);
    expect(response).not.toMatch(/HTTP\/1\.1 2/);
  });

  it("waits for the rest of a too large Content-Length and stores nothing", async () => {
    const response = await running.raw(rawPost(signed(GOOD), GOOD, [`Content-Length: ${GOOD.length + 9}`]));
    expect(response).toBe("");
  });

  it.each([
    ["two lengths", ["Content-Length: 16", "Content-Length: 17"]],
    ["a length and chunks", ["Content-Length: 16", "Transfer-Encoding: chunked"]],
    ["a length that is no number", ["Content-Length: sixteen"]],
    ["a negative length", ["Content-Length: -1"]],
    ["an unknown transfer coding", ["Transfer-Encoding: banana"]],
  ])("answers %s with 400", async (_case, extra) => {
    expect(statusOf(await running.raw(rawPost(signed(GOOD), GOOD, extra)))).toBe(400);
  });

  it.each([
    ["a size that is no number", "zz\r\nabc\r\n0\r\n\r\n"],
    ["a chunk longer than its size", "2\r\nabcdef\r\n0\r\n\r\n"],
  ])("answers a chunked body with %s with 400", async (_case, text) => {
    const head = rawPost(signed(GOOD), Buffer.alloc(0), ["Transfer-Encoding: chunked"]);
    expect(statusOf(await running.raw(head + text))).toBe(400);
  });
});

describe("headers that are wrong", () => {
  it.each([
    ["x-delivery-signature", 401, "SignatureMalformed"],
    ["x-delivery-timestamp", 400, "TimestampMalformed"],
    ["x-delivery-id", 400, "DedupeKeyMissing"],
  ])("refuses %s sent twice with %i", async (name, status, error) => {
    const headers = signed(GOOD);
    const response = await running.raw(rawPost(headers, GOOD, [`${name.toUpperCase()}: ${headers[name]}`]));
    expect([statusOf(response), errorOf(response)]).toEqual([status, error]);
  });

  it.each(["x-delivery-signature", "x-delivery-timestamp", "x-delivery-id"])(
    "refuses a request without %s with 400",
    async (name) => {
      const { [name]: _, ...headers } = signed(GOOD);
      expect(statusOf(await running.raw(rawPost(headers, GOOD)))).toBe(400);
    },
  );

  it("refuses more than 16 KB of them with 431", async () => {
    const response = await running.raw(rawPost(signed(GOOD), GOOD, [`X-Large: ${"a".repeat(16_384)}`]));
    expect(statusOf(response)).toBe(431);
  });

  it("refuses Host sent twice, or not at all, with 400", async () => {
    expect(statusOf(await running.raw(rawPost(signed(GOOD), GOOD, ["Host: other.example.com"])))).toBe(400);
    expect(statusOf(await running.raw("POST /push HTTP/1.1\r\nContent-Length: 0\r\n\r\n"))).toBe(400);
  });

  it.each([
    ["line folding", "X-A: b\r\n c"],
    ["a space before the colon", "X-A : b"],
    ["a NUL", "X-A: b\u0000c"],
  ])("refuses %s with 400", async (_case, line) => {
    expect(statusOf(await running.raw(rawPost(signed(GOOD), GOOD, [line])))).toBe(400);
  });

  it("refuses an expectation it does not know with 417", async () => {
    expect(statusOf(await running.raw(rawPost(signed(GOOD), GOOD, ["Expect: a-miracle"])))).toBe(417);
  });

  it("refuses what is no HTTP with 400", async () => {
    expect(statusOf(await running.raw("\u0016\u0003\u0001 hello\r\n\r\n"))).toBe(400);
  });
});

describe("a payload that is wrong", () => {
  it.each([
    ["text that is no JSON", Buffer.from("run_id=1")],
    ["nothing", Buffer.alloc(0)],
    ["JSON that is cut off", Buffer.from('{"run_id":')],
    [
      "bytes that are no UTF-8",
      Buffer.concat([Buffer.from('{"run_id":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
    ],
    ["an overlong encoding", Buffer.concat([Buffer.from('{"run_id":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    ["nesting to the limit", Buffer.from("[".repeat(LIMIT))],
    ["an array", Buffer.from("[]")],
    ["null", Buffer.from("null")],
    ["an object without the required field", Buffer.from('{"constructor":1}')],
    ["a required field that is null", Buffer.from('{"run_id":null}')],
  ])("refuses %s with 422", async (_case, body) => {
    const response = await running.raw(Buffer.from(rawPost(signed(body), body), "latin1"));
    expect(statusOf(response)).toBe(422);
  });
});

describe("a route without a usable key", () => {
  it.each([
    ["/empty", "an empty secret"],
    ["/none", "no secret"],
  ])("%s (%s) answers 503 with Retry-After", async (path) => {
    const head = rawPost(signed(GOOD), GOOD).replace("/push", path);
    const response = await running.raw(head);
    expect([statusOf(response), errorOf(response)]).toEqual([503, "NoUsableKey"]);
    expect(response).toMatch(/retry-after: \d+/i);
  });
});

describe("a request for something else", () => {
  it.each(["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"])("answers %s with 405 and Allow", async (method) => {
    const response = await running.raw(rawPost(signed(GOOD), GOOD).replace("POST", method));
    expect(statusOf(response)).toBe(405);
    expect(response).toMatch(/allow: POST/i);
  });

  it("answers an unknown host and an unknown path with 404 in JSON", async () => {
    for (const head of [
      rawPost(signed(GOOD), GOOD).replace(HOST, "other.example.com"),
      rawPost(signed(GOOD), GOOD).replace("/push", "/pull"),
    ]) {
      const response = await running.raw(head);
      expect([statusOf(response), errorOf(response)]).toEqual([404, "NotFound"]);
    }
  });

  it.each(["//push", "/./push", "/x/../push", "/push/", "/%70ush", "/push%00", "/PUSH", "*", "/push#x", "\\push"])(
    "does not take %s for /push",
    async (path) => {
      const response = await running.raw(rawPost(signed(GOOD), GOOD).replace("/push", path));
      expect([400, 404]).toContain(statusOf(response));
    },
  );

  it("does not believe X-Forwarded-Host or a userinfo in the target", async () => {
    const other = rawPost(signed(GOOD), GOOD, [`X-Forwarded-Host: ${HOST}`]).replace(
      `Host: ${HOST}`,
      "Host: other.example",
    );
    expect(statusOf(await running.raw(other))).toBe(404);
    const userinfo = rawPost(signed(GOOD), GOOD).replace("/push", `http://${HOST}@evil.example/push`);
    expect([400, 404]).toContain(statusOf(await running.raw(userinfo)));
  });
});
