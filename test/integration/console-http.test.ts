import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { portOf } from "../../src/lib/listen.ts";
import { tokenFor } from "../support/console.ts";
import { type ConsoleCustody, startConsoleCustody } from "../support/console-custody.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

let redis: TestRedis;
let custody: ConsoleCustody;
beforeAll(async () => {
  redis = await startRedis();
  custody = await startConsoleCustody(redis);
});
afterAll(async () => {
  await custody.close();
  await redis.stop();
});

const TOKEN = tokenFor("all");

/** What comes back for these bytes until the console, or we after the first answer, end the connection. @returns status lines */
async function statusesOf(bytes: string | Buffer): Promise<readonly string[]> {
  const socket = connect(portOf(custody.running.console.server), "127.0.0.1");
  let text = "";
  socket.on("data", (data) => {
    text += data.toString("latin1");
  });
  // Not ended: whoever ends their half waits for no answer.
  socket.write(bytes);
  await new Promise((resolve) => {
    socket.on("close", resolve);
    socket.on("error", resolve);
  });
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status ?? "");
}

const request = (line: string, headers: readonly string[] = [], body = "") =>
  [`${line} HTTP/1.1`, "Host: a", `Authorization: Bearer ${TOKEN}`, "Connection: close", ...headers, "", body].join(
    "\r\n",
  );
const place = () => custody.base;
const json = (text: string) => `Content-Length: ${Buffer.byteLength(text)}`;

describe("HTTP at its edges", () => {
  it.each<[string, string, () => string | Buffer]>([
    ["a target in absolute form", "200", () => request(`GET http://b${place()}/replays?route=payments`)],
    ["an absolute target that names nothing", "404", () => request("GET http://b")],
    ["OPTIONS *", "404", () => request("OPTIONS *")],
    ["OPTIONS", "405", () => request(`OPTIONS ${place()}/replays`)],
    ["TRACE", "405", () => request(`TRACE ${place()}/replays`)],
    ["HEAD of what is posted", "405", () => request(`HEAD ${place()}/dead-letters/discard`)],
    ["HEAD", "200", () => request(`HEAD ${place()}/replays`)],
    ["an encoded slash in a name", "400", () => request(`GET ${place()}/routes/payments%2Fevents/events`)],
    ["an encoded slash in place of one", "404", () => request(`GET ${place()}%2Freplays`)],
    ["dot segments", "404", () => request(`GET /v1/namespaces/x/..${place().slice(3)}/replays`)],
    ["encoded dot segments", "400", () => request("GET /v1/namespaces/%2e%2e/replays")],
    ["two slashes", "404", () => request(`GET /${place()}/replays`)],
    ["a slash at the end", "404", () => request(`GET ${place()}/replays/`)],
    ["an escape that is none", "404", () => request("GET /v1/namespaces/%zz/replays")],
    ["an escape of half a character", "404", () => request("GET /v1/namespaces/%ff/replays")],
    ["a NUL in a name", "400", () => request("GET /v1/namespaces/%00/replays")],
    ["a backslash in place of a slash", "404", () => request(`GET ${place()}\\replays`)],
    [
      "bytes that are no ASCII in the target",
      "400",
      () => Buffer.from(request(`GET ${place()}/replays\xff`), "latin1"),
    ],
    ["a name of an object's own", "404", () => request("GET /v1/__proto__")],
    ["a query of an object's own", "400", () => request(`GET ${place()}/replays?__proto__=1&constructor=2`)],
    ["an unknown method", "400", () => request(`BREW ${place()}/replays`)],
    ["no host", "400", () => `GET ${place()}/replays HTTP/1.1\r\n\r\n`],
    ["two tokens", "401", () => request(`GET ${place()}/replays`, [`Authorization: Bearer ${TOKEN}`])],
    ["a head of 20 KB", "431", () => request(`GET ${place()}/replays`, [`X: ${"x".repeat(20_000)}`])],
    [
      "a length and chunks",
      "400",
      () => request(`POST ${place()}/replays`, ["Content-Length: 2", "Transfer-Encoding: chunked"], "{}"),
    ],
    ["two lengths", "400", () => request(`POST ${place()}/replays`, ["Content-Length: 2", "Content-Length: 3"], "{}")],
    ["a length that is none", "400", () => request(`POST ${place()}/replays`, ["Content-Length: 0x2"], "{}")],
    ["a coding that is none", "400", () => request(`POST ${place()}/replays`, ["Transfer-Encoding: gzip"], "{}")],
    [
      "a chunk of more than it says",
      "400",
      () => request(`POST ${place()}/replays`, ["Transfer-Encoding: chunked"], "1\r\n{}\r\n0\r\n\r\n"),
    ],
    ["an expectation that nobody knows", "417", () => request(`POST ${place()}/replays`, ["Expect: a"], "{}")],
    ["a byte order mark", "400", () => request(`POST ${place()}/replays`, [json("\ufeff{}")], "\ufeff{}")],
    ["a body of a GET", "400", () => request(`GET ${place()}/replays`, [json("{}")], "{}")],
    [
      "a field twice in its JSON",
      "200",
      () => {
        const text = '{"filter":{"route":"refunds"},"filter":{},"preview":true}';
        return request(`POST ${place()}/replays`, [json(text)], text);
      },
    ],
    [
      "fields of an object's own in its JSON",
      "400",
      () => {
        const text = '{"filter":{"__proto__":{"route":"payments"}},"preview":true}';
        return request(`POST ${place()}/replays`, [json(text)], text);
      },
    ],
    [
      "no number of JSON",
      "400",
      () => {
        const text = '{"filter":{},"rate":1e400}';
        return request(`POST ${place()}/replays`, [json(text)], text);
      },
    ],
  ])("is answered: %s", async (_, status, bytes) => {
    expect(await statusesOf(bytes())).toEqual([status]);
  });

  it("takes 100-continue", async () => {
    const text = '{"filter":{},"preview":true}';
    const bytes = request(`POST ${place()}/replays`, [json(text), "Expect: 100-continue"], text);
    expect(await statusesOf(bytes)).toEqual(["100", "200"]);
  });

  it("never takes the rest of one request for another", async () => {
    const hidden = `GET ${place()}/replays HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    const short = request(`POST ${place()}/replays`, ["Content-Length: 5"], `{}   ${hidden}`).replace(
      "Connection: close\r\n",
      "",
    );
    // What stands behind the length is the next request, with no token of the first.
    expect(await statusesOf(short)).toEqual(["400", "401"]);
  });

  it("says nothing of a token in what it logs", () => {
    expect(JSON.stringify(custody.running.log())).not.toContain(TOKEN);
  });
});
