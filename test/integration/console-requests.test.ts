import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { portOf } from "../../src/lib/listen.ts";
import { call, tokenFor } from "../support/console.ts";
import { type ConsoleCustody, startConsoleCustody } from "../support/console-custody.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

let redis: TestRedis;
let custody: ConsoleCustody;
let events = "";
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  custody = await startConsoleCustody(redis);
  events = `${custody.base}/routes/payments/events`;
});
afterEach(() => custody.close());

const problemsOf = async (path: string, body?: unknown) => {
  const answer = await call(custody.running, path, body === undefined ? {} : { method: "POST", body });
  expect([answer.status, answer.body.error]).toEqual([400, "RequestInvalid"]);
  return answer.body.problems as { field: string; message: string }[];
};

/** A promise that a test ends. */
function deferred<T>() {
  let end: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    end = resolve;
  });
  return { promise, resolve: (value: T) => end(value) };
}

describe("requests to the console", () => {
  it("are told all that is wrong with their query at once", async () => {
    const query = "limit=0&limit=501&state=gone&stat=dead&from=yesterday&destination=";
    expect(await problemsOf(`${events}?${query}`)).toEqual([
      { field: "limit", message: "was sent more than once" },
      { field: "state", message: expect.stringMatching(/^must be one of waiting, active, /) as string },
      { field: "destination", message: expect.stringContaining("~ID") as string },
      { field: "from", message: "must be a date and time as in RFC 3339: 2026-01-31T12:00:00Z" },
      { field: "limit", message: "must be a whole number from 1 to 500" },
      { field: "stat", message: "is not known here; did you mean state?" },
    ]);
    expect(await problemsOf(`${events}?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z`)).toEqual([
      { field: "from", message: "must not be after `to`" },
    ]);
  });

  it.each([
    "limit=1e2",
    "limit=-1",
    "limit=",
    "limit=5.0",
    "limit=0x10",
    "after=9007199254740992",
    "include=all",
    "destination=a%00b",
  ])("are refused with ?%s", async (query) => {
    const [problem] = await problemsOf(`${custody.base}/routes/payments/sequence?${query}`);
    expect(problem?.field).toBe(query.split("=", 1)[0]);
  });

  it("are told what is wrong with their path and their body", async () => {
    expect(await problemsOf(`/v1/namespaces/A_b/routes/-/events`)).toEqual([
      { field: "namespace", message: expect.any(String) as string },
      { field: "route", message: expect.any(String) as string },
    ]);
    const fields = async (body: unknown) =>
      (await problemsOf(`${custody.base}/replays`, body)).map(({ field }) => field);
    expect(await fields({ filter: { rout: "a", from: 5 }, rate: 0.5, preview: "yes", more: 1 })).toEqual([
      "filter.from",
      "filter.rout",
      "rate",
      "preview",
      "more",
    ]);
    expect(await fields({})).toEqual(["filter"]);
    expect(await fields({ filter: {}, rate: 5_001 })).toEqual(["rate"]);
    expect(await fields({ filter: { destination: "orders" } })).toEqual(["filter.destination"]);
    expect(await fields({ filter: { destination: "~" } })).toEqual(["filter.destination"]);
    expect(await problemsOf(`${custody.base}/replays/${"0".repeat(20)}/pause`, { now: true })).toEqual([
      { field: "body", message: "this endpoint takes none: send none" },
    ]);
  });

  it.each([
    ["no JSON", "{", "NotJson"],
    ["a list", "[]", "NotJson"],
    ["no UTF-8", Buffer.from('{"filter":{"eventType":"\xff"}}', "latin1"), "NotJson"],
  ])("are refused when their body is %s", async (_what, body, error) => {
    const answer = await call(custody.running, `${custody.base}/replays`, { method: "POST", body });
    expect([answer.status, answer.body.error]).toEqual([400, error]);
  });

  it("are refused when their body is larger than 64 KiB, whether they say so or not", async () => {
    const large = await call(custody.running, `${custody.base}/replays`, { method: "POST", body: "x".repeat(65_537) });
    expect([large.status, large.body.error]).toEqual([413, "RequestTooLarge"]);
    const response = await fetch(`${custody.running.url}${custody.base}/replays`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokenFor("all")}` },
      body: new Blob(["x".repeat(70_000)]).stream(),
      duplex: "half",
    });
    expect(response.status).toBe(413);
  });

  it("are refused before their body comes when they promise a large one", async () => {
    const socket = connect(portOf(custody.running.console.server), "127.0.0.1");
    const head = [`POST ${custody.base}/replays HTTP/1.1`, "Host: a", `Authorization: Bearer ${tokenFor("all")}`];
    socket.write([...head, "Content-Length: 1000000000", "", ""].join("\r\n"));
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it("are bounded in number: those of one caller, and no other's", async () => {
    const open = deferred<boolean>();
    const { access } = custody.running;
    const caller = access.caller.bind(access);
    access.caller = async (token) => {
      const known = await caller(token);
      return known && (token === tokenFor("all") ? { ...known, may: () => open.promise } : known);
    };
    const many = Array.from({ length: 16 }, () => call(custody.running, events));
    await expect.poll(async () => (await call(custody.running, events, { token: tokenFor("x") })).status).toBe(403);
    const late = await call(custody.running, events);
    expect([late.status, late.body.error, late.headers.get("retry-after")]).toEqual([429, "TooManyInFlight", "1"]);
    expect((await call(custody.running, events, { token: tokenFor("x") })).status).toBe(403);
    open.resolve(true);
    expect((await Promise.all(many)).map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
    expect((await call(custody.running, events)).status).toBe(200);
  });

  it("are answered to the end when the console is closed, and their connections closed when it drains", async () => {
    custody.running.console.drain();
    expect((await call(custody.running, events)).headers.get("connection")).toBe("close");
    const open = deferred<boolean>();
    const { access } = custody.running;
    const caller = access.caller.bind(access);
    const asked = deferred<void>();
    access.caller = async (token) => {
      const known = await caller(token);
      asked.resolve(undefined);
      return known && { ...known, may: () => open.promise };
    };
    const last = call(custody.running, events);
    await asked.promise;
    const closed = custody.running.console.close(5_000);
    open.resolve(true);
    expect((await last).status).toBe(200);
    await closed;
    expect(custody.running.console.server.listening).toBe(false);
  });

  it("that are no HTTP are answered too", async () => {
    const socket = connect(portOf(custody.running.console.server), "127.0.0.1");
    socket.write("nonsense\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toContain("400 Bad Request");
    socket.destroy();
  });
});

describe("input at its edges", () => {
  const edges = {
    limit: ["1", "500"],
    from: ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"],
    to: ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999+23:59"],
    after: ["0", String(Number.MAX_SAFE_INTEGER)],
    eventType: ["*", "**", "%d+[", "😀*", "x".repeat(129), "a|b:c\\"],
    reason: ["*", "0*"],
    destination: ["orders", `~${"%".repeat(128)}`, `~${"😀".repeat(128)}`, "~😀", "~a|b:c/d", "0"],
  } as const;
  const lists: Readonly<Record<string, readonly (keyof typeof edges)[]>> = {
    "routes/payments/events": ["limit", "from", "to", "eventType", "destination"],
    "routes/payments/sequence": ["limit", "after", "eventType", "destination"],
    "dead-letters": ["limit", "from", "to", "eventType", "reason", "destination"],
    "dead-letters/count": ["from", "to", "eventType", "reason", "destination"],
  };

  it.each(Object.keys(lists))("is answered by %s", async (path) => {
    await custody.ended("dead", { eventType: "a" });
    for (const name of lists[path] ?? []) {
      for (const value of edges[name]) {
        const query = new URLSearchParams({ [name]: value, ...(path.startsWith("dead") && { route: "payments" }) });
        const { status } = await call(custody.running, `${custody.base}/${path}?${query.toString()}`);
        expect([name, value, status]).toEqual([name, value, 200]);
      }
    }
  });

  it("is answered by what changes something", async () => {
    await custody.accept({ eventType: "a" });
    const filters = (["from", "to", "eventType", "destination"] as const).flatMap((name) =>
      edges[name].map((value) => ({ route: "payments", [name]: value })),
    );
    for (const path of ["copies/cancel", "dead-letters/discard", "dead-letters/restore", "replays"]) {
      for (const filter of filters) {
        const { status } = await call(custody.running, `${custody.base}/${path}`, { method: "POST", body: { filter } });
        expect([path, filter, status]).toEqual([path, filter, path === "replays" ? 201 : 200]);
      }
    }
    expect((await call(custody.running, `${custody.base}/replays`)).body.items).toHaveLength(filters.length);
  });
});

describe("docs/operations-api.md", () => {
  const page = readFileSync(new URL("../../docs/operations-api.md", import.meta.url), "utf8").replaceAll("\\\n", " ");
  const calls = page
    .split("\n")
    .map((line) => /^api (?<method>-X POST )?"\$API(?<path>[^"]+)"(?:.* -d '(?<body>[^']+)')?/.exec(line)?.groups)
    .filter((groups) => groups !== undefined);

  it("shows calls that the console understands", async () => {
    expect(calls.length).toBeGreaterThan(15);
    for (const { method, path = "", body } of calls) {
      const options = { method: method === undefined ? "GET" : "POST", ...(body !== undefined && { body }) } as const;
      const answer = await call(custody.running, `${custody.base}${path}`, options);
      const known = ["NoSuchEvent", "NoSuchReplay", undefined].includes(answer.body.error as string | undefined);
      expect([path, body, known, answer.body.message]).toEqual([path, body, true, known ? answer.body.message : ""]);
    }
  });
});

describe("the console while Redis is down", () => {
  it("answers 503 with Retry-After, and serves again when it is back", async () => {
    const own = await startRedis();
    const lonely = await startConsoleCustody(own);
    onTestFinished(async () => {
      await lonely.close();
      await own.stop();
    });
    await own.kill9();
    const zeros = "0".repeat(20);
    const paths = [
      "dead-letters",
      "dead-letters/count",
      "replays",
      `replays/${zeros}`,
      "routes/payments/events",
      "routes/payments/sequence",
      "routes/payments/rejections",
    ];
    for (const path of paths) {
      const { status, body, headers } = await call(lonely.running, `${lonely.base}/${path}`);
      expect([path, status, body.error, headers.get("retry-after")]).toEqual([path, 503, "StoreUnavailable", "2"]);
    }
    const { status } = await call(lonely.running, `${lonely.base}/replays`, { method: "POST", body: { filter: {} } });
    expect(status).toBe(503);
    await own.restart();
    await expect
      .poll(async () => (await call(lonely.running, `${lonely.base}/replays`)).status, { timeout: 10_000 })
      .toBe(200);
  });
});
