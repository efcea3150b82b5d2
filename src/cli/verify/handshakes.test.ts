import { createHash, createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { replayHandshakes } from "./handshakes.ts";
import type { Handshake } from "./replay.ts";

const dir = mkdtempSync(join(tmpdir(), "davit-handshakes-"));
afterAll(() => rmSync(dir, { recursive: true }));

const PUBLISHED = new URL("../../../test/vectors/handshakes.json", import.meta.url);
const published = JSON.parse(readFileSync(PUBLISHED, "utf8")) as Handshake[];

async function run(cases: unknown): Promise<{ code: number; lines: Record<string, unknown>[] }> {
  const file = join(dir, "handshakes.json");
  writeFileSync(file, typeof cases === "string" ? cases : JSON.stringify(cases));
  let out = "";
  const stdout = { write: (text: string) => (out += text) };
  const code = await replayHandshakes(file, { stdout, stderr: stdout });
  return {
    code,
    lines: out.split("\n").flatMap((line) => (line ? [JSON.parse(line) as Record<string, unknown>] : [])),
  };
}

function of(provider: string): Handshake {
  const found = published.find((one) => one.provider === provider);
  if (!found) throw new Error(`no handshake of ${provider}`);
  return found;
}

/** A case whose request has no headers and no body unless it says so. */
function recorded(
  provider: string,
  secret: string | null,
  request: Partial<Handshake["request"]>,
  response: Handshake["response"],
): Handshake {
  const empty = { method: "GET", path: "/hook", headers: {}, bodyBase64: "" };
  return { provider, scheme: "test", secret, request: { ...empty, ...request }, response };
}

function body(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64");
}

describe("davit verify --handshakes", () => {
  it("replays every published handshake against the gateway and finds each answer right", async () => {
    const { code, lines } = await run(published);
    expect(lines).toEqual(published.map(({ provider, scheme }) => ({ provider, scheme, ok: true })));
    expect(code).toBe(0);
  });

  it("knows what a case's secret is for: a key, a token that is compared, a parameter", async () => {
    const endpoint = "https://shop.example/ebay";
    const ebay = createHash("sha256").update(`c-1token-1${endpoint}`).digest("hex");
    const linkedin = createHmac("sha256", "client-secret").update("c-2").digest("hex");
    const cases = [
      {
        ...recorded(
          "ebay",
          "token-1",
          { path: "/ebay?challenge_code=c-1" },
          { status: 200, contentType: "application/json", json: { challengeResponse: ebay } },
        ),
        extra: { endpoint },
      },
      recorded(
        "linkedin",
        "client-secret",
        { path: "/hook?challengeCode=c-2" },
        { status: 200, contentType: "application/json", json: { challengeCode: "c-2", challengeResponse: linkedin } },
      ),
      recorded(
        "ms-graph",
        null,
        { method: "POST", path: "/hook?validationToken=a%20b" },
        { status: 200, contentType: "text/plain", bodyOneOf: ["a b"] },
      ),
      recorded(
        "notion",
        null,
        {
          method: "POST",
          bodyBase64: body({ verification_token: "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl" }),
        },
        { status: 200 },
      ),
      recorded(
        "meta",
        "verify-token",
        { path: "/hook?hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong" },
        { status: 403 },
      ),
    ];
    const { code, lines } = await run(cases);
    expect(lines).toEqual(cases.map(({ provider }) => ({ provider, scheme: "test", ok: true })));
    expect(code).toBe(0);
  });

  it("says what is not as recorded, and ends with 1", async () => {
    const slack = of("slack");
    const respond = (response: Partial<Handshake["response"]>) => ({
      ...slack,
      response: { ...slack.response, ...response },
    });
    const late = { ...slack, request: { ...slack.request, now: 1_718_000_301 } };
    const { code, lines } = await run([
      respond({ status: 204 }),
      respond({ contentType: "text/html" }),
      respond({ bodyOneOf: ["x"] }),
      respond({ json: {} }),
      respond({ headers: { "X-Missing": "1" } }),
      late,
      { ...of("zoom"), response: { status: 200, json: { plainToken: "x" } } },
    ]);
    expect(lines.map(({ why }) => why)).toEqual([
      "status 200 instead of 204",
      "content-type text/plain instead of text/html",
      "the body is none of those that are expected",
      "the body is not JSON",
      "header X-Missing is missing",
      "status 401 instead of 200",
      "the body holds other JSON than expected",
    ]);
    expect(lines.every(({ ok }) => ok === false)).toBe(true);
    expect(code).toBe(1);
  });

  it("does not take an event for a handshake", async () => {
    const event = body({ type: "event_callback", event_id: "Ev1" });
    const now = 1_718_000_000;
    const digest = createHmac("sha256", "k").update(`v0:${now}:`).update(Buffer.from(event, "base64")).digest("hex");
    const headers = { "x-slack-request-timestamp": String(now), "x-slack-signature": `v0=${digest}` };
    const { lines } = await run([
      recorded("slack", "k", { method: "POST", headers, bodyBase64: event, now }, { status: 200 }),
    ]);
    expect(lines[0]).toEqual({ provider: "slack", scheme: "test", ok: false, why: "an event was enqueued" });
  });

  it("tells of cases that it cannot replay, and goes on", async () => {
    const { code, lines } = await run([7, { ...of("slack"), provider: "morse" }, of("slack")]);
    expect(lines.map(({ ok }) => ok)).toEqual([false, false, true]);
    expect(lines[0]?.["why"]).toBe("no handshake: provider, request and response are needed");
    expect(lines[1]?.["why"]).toContain('"morse" is unknown');
    expect(code).toBe(1);
  });

  it.each(["a: 1", "{}"])("refuses a file that holds %s", async (content) => {
    await expect(run(content)).rejects.toThrow("an array of handshakes is needed");
  });
});
