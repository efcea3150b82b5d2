import { describe, expect, it } from "vitest";
import type { TakenCopy } from "../custody/port.ts";
import type { DestinationEntry } from "../routes/entry.ts";
import type { WorkerDestination } from "./destinations.ts";
import { outgoingHeaders, outgoingTarget } from "./outgoing.ts";

const entry: DestinationEntry = {
  id: "00000000000000ab/orders",
  name: "orders",
  target: { type: "http", url: "https://example.com/hook" },
  eventTypes: [],
  timeoutMs: 15_000,
  concurrency: 16,
  retry: { type: "schedule", delaysMs: [1_000], jitter: 0, giveUpAfterMs: 1, maxRetryAfterMs: 1, maxAgeMs: 1 },
  headers: {},
  forwardHeaders: [],
};
const copy: TakenCopy = {
  destination: entry.id,
  eventId: "01J0000000000000000000TEST",
  fence: 7,
  attempt: 3,
  used: 2,
  firstAttemptAt: 0,
  now: 0,
  receivedAt: 0,
  sequence: 7_280_000_000_000_001,
  seq: 1,
  headers: {
    "content-type": "application/json; charset=utf-8",
    "x-github-event": "push",
    "x-odd": "caf\u00e9",
    "x-bad": "a\u0001b",
    authorization: "Bearer inbound",
    cookie: "session=1",
    connection: "keep-alive",
    "transfer-encoding": "chunked",
    host: "hooks.example.com",
    "webhook-id": "the-sender's",
  },
  eventType: undefined,
  body: Buffer.from("{}"),
};

function destinationOf(overrides: Partial<DestinationEntry>): WorkerDestination {
  return {
    entry: { ...entry, ...overrides },
    namespace: "shop",
    routeName: "stripe",
    seq: 1,
    suspended: false,
    signableUntil: Infinity,
    policy: {
      destination: entry.id,
      policy: {
        route: "00000000000000ab",
        windowMs: 1,
        earlierWindows: [],
        retention: { deliveredMs: 1, deadLettersMs: 1, maxEvents: 1, keepBodies: false },
      },
      limit: 1,
      timeoutMs: 1,
      maxAgeMs: 1,
    },
  };
}

function headersOf(
  overrides: Partial<DestinationEntry>,
  url = "https://example.com/hook",
  inbound: Readonly<Record<string, string>> = copy.headers,
): [string, string][] {
  const flat =
    outgoingHeaders(outgoingTarget(destinationOf(overrides), url), { ...copy, headers: inbound }, 1_000_000) ?? [];
  return flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? ""] as [string, string]] : []));
}
const valuesOf = (headers: [string, string][], name: string): string[] =>
  headers.filter(([n]) => n === name).map(([, v]) => v);

describe("outgoing headers", () => {
  it("are none at all when they must be signed and no key can be used", () => {
    const signing = { scheme: "StandardWebhooks" as const, header: "webhook-signature", keys: [] };
    expect(headersOf({ signing })).toEqual([]);
  });

  it("name the event, the attempt, the sequence and the route, and keep the content type", () => {
    expect(Object.fromEntries(headersOf({}))).toEqual({
      "user-agent": "davit",
      "davit-route": "shop/stripe",
      "webhook-id": "01J0000000000000000000TEST",
      "idempotency-key": "01J0000000000000000000TEST",
      "davit-attempt": "3",
      "davit-sequence": "7280000000000001",
      "content-type": "application/json; charset=utf-8",
    });
  });

  it("pass on what is listed, in any case, and nothing of a connection or of the sender's credentials", () => {
    const forwardHeaders = [
      "X-GitHub-Event",
      "X-Odd",
      "X-Absent",
      "Content-Type",
      "Authorization",
      "Cookie",
      "Connection",
      "Transfer-Encoding",
      "Host",
      "Content-Length",
      "Webhook-Id",
    ];
    const headers = headersOf({ forwardHeaders });
    expect(valuesOf(headers, "x-github-event")).toEqual(["push"]);
    expect(valuesOf(headers, "x-odd")).toEqual(["caf\u00e9"]);
    expect(valuesOf(headers, "content-type").length).toBe(1);
    expect(valuesOf(headers, "webhook-id")).toEqual(["01J0000000000000000000TEST"]);
    for (const name of [
      "authorization",
      "cookie",
      "connection",
      "transfer-encoding",
      "host",
      "content-length",
      "x-absent",
    ]) {
      expect(valuesOf(headers, name)).toEqual([]);
    }
  });

  it("leave out a value that could not be sent, so that the event still can", () => {
    expect(valuesOf(headersOf({ forwardHeaders: ["x-bad"] }), "x-bad")).toEqual([]);
    expect(valuesOf(headersOf({ forwardHeaders: ["constructor"] }), "constructor"), "not the object's own").toEqual([]);
  });

  it("add the route's own headers once, before forwarded ones of the same name, but not those that are ours or the connection's", () => {
    const headers = headersOf({
      headers: {
        "X-Team": "payments",
        Authorization: "Bearer out",
        "Content-Type": "text/plain",
        "Davit-Attempt": "9",
        "Content-Length": "1",
      },
      forwardHeaders: ["Content-Type"],
    });
    expect(valuesOf(headers, "x-team")).toEqual(["payments"]);
    expect(valuesOf(headers, "authorization")).toEqual(["Bearer out"]);
    expect(valuesOf(headers, "content-type")).toEqual(["text/plain"]);
    expect(valuesOf(headers, "davit-attempt")).toEqual(["3"]);
    expect(valuesOf(headers, "content-length")).toEqual([]);
  });

  it("carry a signature under the header the route names, and never the inbound one of that name", () => {
    const signing = {
      scheme: "Timestamped" as const,
      header: "X-GitHub-Event",
      keys: [{ id: "0", use: "Signing" as const, state: "current" as const, since: 0, value: "YQ==" }],
    };
    const headers = headersOf({ signing, forwardHeaders: ["x-github-event"] });
    expect(headers.filter(([name]) => name.toLowerCase() === "x-github-event").map(([, v]) => v.slice(0, 7))).toEqual([
      "t=1000,",
    ]);
  });

  it("takes credentials in a URL as they are where they are no percent-encoding", () => {
    const headers = headersOf({}, "https://us%zzer:100%@example.com/hook");
    expect(valuesOf(headers, "authorization")).toEqual([`Basic ${Buffer.from("us%zzer:100%").toString("base64")}`]);
  });

  it("turn credentials in the URL into an Authorization header and keep them out of origin and path", () => {
    const url = "https://us%40er:pa%3Ass@example.com:8443/hook?a=1#frag";
    expect(valuesOf(headersOf({}, url), "authorization")).toEqual([
      `Basic ${Buffer.from("us@er:pa:ss").toString("base64")}`,
    ]);
  });

  it("keep the encoding of the content, without which nobody can read the bytes", () => {
    const inbound = { "content-type": "application/json", "content-encoding": "gzip" };
    expect(valuesOf(headersOf({}, undefined, inbound), "content-encoding")).toEqual(["gzip"]);
  });

  it("never carry what senders authenticate to us with, nor the signature that was verified, although a manifest names it", () => {
    const names = ["Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "X-Gitlab-Token", "Davit-Signature"];
    const inbound = Object.fromEntries(names.map((name) => [name.toLowerCase(), "secret"]));
    expect(JSON.stringify(headersOf({ forwardHeaders: names }, undefined, inbound))).not.toContain("secret");
  });

  it("take those from Secrets over those of the manifest, without the line end that files have", () => {
    const headers = headersOf({
      headers: { authorization: "Bearer manifest", "x-team": "payments" },
      headersFrom: { authorization: "Bearer secret\n" },
    });
    expect(valuesOf(headers, "authorization")).toEqual(["Bearer secret"]);
    expect(valuesOf(headers, "x-team")).toEqual(["payments"]);
  });

  it("cannot be added to by any value or name, wherever it comes from", () => {
    const evil = "a\r\nx-injected: 1";
    const inbound = {
      "x-one": evil,
      "x-two": "b\nx-injected: 1",
      "x-three": "c\0d",
      "content-type": evil,
      [evil]: "e",
    };
    const headers = headersOf(
      {
        headers: { "x-four": evil, "x-five: 1\r\nx-injected": "f", "": "g", "x six": "h" },
        headersFrom: { "x-seven": evil },
        forwardHeaders: ["x-one", "x-two", "x-three", evil, "x y"],
      },
      "https://example.com/a%0d%0ax-injected:%201?b=%0D%0A",
      inbound,
    );
    expect(headers.flat().filter((text) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(text))).toEqual([]);
    expect(headers.map(([name]) => name)).toEqual([
      "user-agent",
      "davit-route",
      "webhook-id",
      "idempotency-key",
      "davit-attempt",
      "davit-sequence",
    ]);
  });

  it("have each name once", () => {
    const inbound = { "user-agent": "theirs", "x-a": "1", "content-type": "a/b", "content-encoding": "br" };
    const forwardHeaders = ["User-Agent", "X-A", "x-a", "Content-Type", "content-encoding"];
    const names = headersOf({ forwardHeaders, headers: { "X-A": "2" } }, undefined, inbound).map(([name]) => name);
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  });
});

describe("the way of a delivery", () => {
  const wayTo = (overrides: Partial<DestinationEntry>) => {
    return outgoingTarget(destinationOf(overrides), "https://example.com").way;
  };
  const http = (viaService?: true) => ({
    type: "http" as const,
    url: "https://example.com",
    ...(viaService && { viaService }),
  });

  it("leads outside unless a serviceRef says so, and then past the egress proxy", () => {
    expect(wayTo({ target: http() })).toEqual({ key: "", network: "Public" });
    expect(wayTo({ target: http(), proxy: "http://proxy.example:3128" })).toMatchObject({
      network: "Public",
      proxy: "http://proxy.example:3128",
    });
    const inside = wayTo({ target: http(true), proxy: "http://proxy.example:3128" });
    expect([inside.network, inside.proxy]).toEqual(["Cluster", undefined]);
  });

  it("is another one for other certificates, networks and proxies, so that no connection is shared, and tells no key", () => {
    const ways = [
      wayTo({ target: http() }),
      wayTo({ target: http(true) }),
      wayTo({ target: http(), proxy: "http://proxy.example:3128" }),
      wayTo({ target: http(), tls: { ca: "A" } }),
      wayTo({ target: http(), tls: { ca: "B" } }),
      wayTo({ target: http(), tls: { certificate: "A", key: "B" } }),
      wayTo({ target: http(true), tls: { ca: "A" } }),
    ];
    const keys = ways.map(({ key }) => key);
    expect(new Set(keys).size).toBe(ways.length);
    expect(wayTo({ target: http(), tls: { ca: "A" } }).key).toBe(ways[3]?.key);
    expect(keys.every((key) => key === "" || /^[A-Za-z0-9+/]{43}=$/.test(key))).toBe(true);
  });
});
