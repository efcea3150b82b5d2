import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { EgressGuard, type EgressGuardOptions } from "./guard.ts";
import { type FetchError, guardedFetch, type FetchRequest, type GuardedFetch } from "./guarded-fetch.ts";

/** A resolver that answers with these addresses in turn, and counts. */
function resolver(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolve: NonNullable<EgressGuardOptions["resolve"]> = (host, done) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(host);
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { asked, resolve };
}

let server: Server | undefined;
let fetcher: GuardedFetch | undefined;
let hits = 0;
afterEach(async () => {
  await fetcher?.close();
  server?.closeAllConnections();
  server?.close();
  [server, fetcher, hits] = [undefined, undefined, 0];
});

async function serve(listener: RequestListener): Promise<number> {
  server = createServer((request, response) => {
    hits += 1;
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function ask(url: string, guard: EgressGuardOptions, request: Partial<FetchRequest> = {}) {
  fetcher = guardedFetch(new EgressGuard(guard));
  return fetcher.fetch({ url, plainHttp: true, timeoutMs: 2_000, maxBytes: 1_024, ...request });
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "no error",
    (error: FetchError) => error.code,
  );

describe("the guard over outgoing connections", () => {
  test.each([
    "127.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "127.0.0.1.",
    "localhost",
    "0",
  ])("does not let a request through to http://%s/", async (host) => {
    const port = await serve((_, response) => response.end("secret"));
    expect(await codeOf(ask(`http://${host}:${port}/`, {}))).toBe("AddressNotAllowed");
    expect(hits).toBe(0);
  });

  test("refuses a name when any of its addresses is forbidden", async () => {
    const port = await serve((_, response) => response.end("secret"));
    for (const addresses of [["8.8.8.8", "::1"], ["127.0.0.1", "8.8.8.8"], ["8.8.8.8", "fe80::1%1"], []]) {
      expect(await codeOf(ask(`http://mixed.example:${port}/`, resolver(addresses)))).toBe("AddressNotAllowed");
    }
    expect(hits).toBe(0);
  });

  test("connects to the address that it judged: a name is asked once", async () => {
    const port = await serve((_, response) => response.end("hello"));
    const names = resolver(["127.0.0.1"], ["127.0.0.9"]);
    const { body } = await ask(`http://once.example:${port}/`, { ...names, allow: ["127.0.0.1"] });
    expect(body.toString()).toBe("hello");
    expect(names.asked).toEqual(["once.example"]);
  });

  test("lets through what the release allows, and nothing beside it", async () => {
    const port = await serve((_, response) => response.end("hello"));
    const allow = ["127.0.0.1/32"];
    expect((await ask(`http://127.0.0.1:${port}/`, { allow })).body.toString()).toBe("hello");
    expect(await codeOf(ask(`http://127.0.0.2:${port}/`, { allow }))).toBe("AddressNotAllowed");
    expect(() => new EgressGuard({ allow: ["everything"] })).toThrow(RangeError);
  });

  test("answers a socket that wants one address as well as one that wants all", () => {
    const guard = new EgressGuard(resolver(["8.8.8.8", "8.8.4.4"]));
    const answers: unknown[] = [];
    guard.lookup("dns.example", { all: true }, (...answer) => answers.push(answer));
    guard.lookup("dns.example", {}, (...answer) => answers.push(answer));
    expect(answers).toEqual([
      [
        null,
        [
          { address: "8.8.8.8", family: 4 },
          { address: "8.8.4.4", family: 4 },
        ],
      ],
      [null, "8.8.8.8", 4],
    ]);
  });
});

describe("a guarded request", () => {
  const allow = ["127.0.0.0/8"];

  test("does not follow a redirect", async () => {
    const port = await serve((_, response) => response.writeHead(302, { location: "/elsewhere" }).end());
    expect((await ask(`http://127.0.0.1:${port}/`, { allow })).status).toBe(302);
    expect(hits).toBe(1);
  });

  test("reads no more than it was told to", async () => {
    const port = await serve((_, response) => response.end(Buffer.alloc(1_025)));
    expect(await codeOf(ask(`http://127.0.0.1:${port}/`, { allow }))).toBe("response_too_large");
    expect(await codeOf(ask(`http://127.0.0.1:${port}/`, { allow }, { maxBytes: 1_025 }))).toBe("no error");
  });

  test("ends when its time is over, although bytes still come", async () => {
    const port = await serve((_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("."), 20);
      response.on("close", () => clearInterval(timer));
    });
    expect(await codeOf(ask(`http://127.0.0.1:${port}/`, { allow }, { timeoutMs: 150 }))).toBe("timeout");
  });

  test("posts JSON when there is some", async () => {
    const port = await serve((request, response) => request.pipe(response));
    const { body } = await ask(`http://127.0.0.1:${port}/`, { allow }, { json: { key: 1 } });
    expect(body.toString()).toBe('{"key":1}');
  });

  test.each(["http://example.com/", "ftp://example.com/", "https://user:pass@example.com/", "nonsense"])(
    "refuses %s where only https is wanted",
    async (url) => {
      expect(await codeOf(ask(url, {}, { plainHttp: false }))).toBe("invalid_request");
    },
  );
});
