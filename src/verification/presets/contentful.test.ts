import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NOW, outcome, signed, type Sent } from "./testing.ts";

const SECRET = "q_Oly53ipVRUxyoBmkG0MITMR9oca9wPsXOpsQ-bWdndmWwc_xT3AIJrJeWWwIxx";
const KEYS = [SECRET];
const BODY = '{"sys":{"type":"Entry","id":"e1"}}';
const NAMES = "x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic";
const CANONICAL_HEADERS = `x-contentful-signed-headers:${NAMES};x-contentful-timestamp:${NOW};x-contentful-topic:Entry.publish`;

interface Case {
  readonly path?: string;
  readonly signedPath?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly canonical?: string;
  readonly body?: string;
}

function request({
  path = "/hook?x=1",
  signedPath = "/hook?x%253D1",
  headers = {},
  canonical,
  body = BODY,
}: Case): Sent {
  const text = `POST\n${signedPath}\n${canonical ?? CANONICAL_HEADERS}\n${BODY}`;
  return {
    url: `https://hooks.example.com${path}`,
    body,
    headers: {
      "x-contentful-signature": createHmac("sha256", SECRET).update(text, "utf8").digest("hex"),
      "x-contentful-signed-headers": NAMES,
      "x-contentful-timestamp": String(NOW),
      "x-contentful-topic": "Entry.publish",
      ...headers,
    },
  };
}

describe("contentful", () => {
  it.each([
    ["a query that is escaped twice, as the library does", {}],
    ["a query as it is", { signedPath: "/hook?x=1" }],
    ["no query", { path: "/hook", signedPath: "/hook" }],
    ["an escape in the path, escaped once more", { path: "/a%20b", signedPath: "/a%2520b" }],
    ["an empty query, which is left out", { path: "/hook?", signedPath: "/hook" }],
    ["names in another order", { headers: { "x-contentful-signed-headers": NAMES.split(",").toReversed().join(",") } }],
    ["blanks around a value", { headers: { "x-contentful-topic": " Entry.publish " } }],
    [
      "a value beyond ASCII",
      {
        headers: { "x-contentful-topic": "é" },
        canonical: CANONICAL_HEADERS.replace("Entry.publish", Buffer.from("é").toString("latin1")),
      },
    ],
  ])("accepts %s", (_what, one: Case) => {
    expect(outcome("contentful", request(one), { keys: KEYS })).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "another path", { path: "/hooked?x=1" }],
    ["SignatureMismatch", "another query", { path: "/hook?x=2" }],
    ["SignatureMismatch", "another body", { body: `${BODY}\n` }],
    ["SignatureMismatch", "another value of a signed header", { headers: { "x-contentful-topic": "Entry.delete" } }],
    ["HeaderMissing", "a signed header that is missing", { headers: { "x-contentful-topic": [] } }],
    [
      "SignatureMalformed",
      "a signed header that is there twice",
      { headers: { "x-contentful-topic": ["Entry.publish", "x"] } },
    ],
    ["HeaderMissing", "no list of headers", { headers: { "x-contentful-signed-headers": "" } }],
    ["SignatureMalformed", "two lists", { headers: { "x-contentful-signed-headers": [NAMES, NAMES] } }],
    ["SignatureMalformed", "a list without the timestamp", unstamped()],
    [
      "SignatureMalformed",
      "a list of more headers than any sender signs",
      listed([NAMES, ...Array.from({ length: 62 }, (_, at) => `x-${at}`)].join(",")),
    ],
    [
      "SignatureMalformed",
      "a list with a name twice",
      { headers: { "x-contentful-signed-headers": `${NAMES},x-contentful-topic` } },
    ],
    ["SignatureMalformed", "a list with a name in upper case", listed(NAMES.replace("topic", "Topic"))],
    ["SignatureMalformed", "a list in upper case", { headers: { "x-contentful-signed-headers": NAMES.toUpperCase() } }],
    ["TimestampExpired", "an old timestamp", stamped(NOW - 30_001)],
    ["TimestampInFuture", "a timestamp ahead", stamped(NOW + 30_001)],
    ["TimestampMalformed", "a timestamp that parseInt would take", stamped(`${NOW}abc`)],
  ])("refuses with %s %s", (reason, _what, one: Case) => {
    expect(outcome("contentful", request(one), { keys: KEYS })).toBe(reason);
  });

  it("signs what it accepts", () => {
    const headers = { "x-contentful-topic": "Entry.publish", "x-contentful-signed-headers": NAMES };
    const sent = signed("contentful", { url: "https://h.example/a?x=1&y=%26", body: BODY, headers }, { keys: KEYS });
    expect(outcome("contentful", sent, { keys: KEYS })).toBe("accepted");
  });
});

/** A list that leaves the timestamp unsigned. */
function unstamped(): Case {
  const names = "x-contentful-signed-headers,x-contentful-topic";
  return {
    headers: { "x-contentful-signed-headers": names },
    canonical: `x-contentful-signed-headers:${names};x-contentful-topic:Entry.publish`,
  };
}

/** A list as the sender signed it. */
function listed(names: string): Case {
  return {
    headers: { "x-contentful-signed-headers": names },
    canonical: CANONICAL_HEADERS.replace(NAMES, names).replace("x-contentful-topic:", "x-contentful-Topic:"),
  };
}

function stamped(timestamp: number | string): Case {
  return {
    headers: { "x-contentful-timestamp": String(timestamp) },
    canonical: CANONICAL_HEADERS.replace(String(NOW), String(timestamp)),
  };
}
