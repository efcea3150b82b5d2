import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NOW, outcome, signed, type Sent } from "../testing.ts";
import { hubspotUrl } from "./uri.ts";

const SECRET = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy";
const KEYS = [SECRET];
const TARGET = "https://www.example.com/webhook?x=a%3Ab&y=%27q%27&z=%26%20";
const DECODED = "https://www.example.com/webhook?x=a:b&y='q'&z=%26%20";
const BODY = '[{"eventId":1}]';

function v3(text: string, timestamp = String(NOW), more: Sent = {}): Sent {
  const signature = createHmac("sha256", SECRET).update(text, "utf8").digest("base64");
  const headers = { "x-hubspot-signature-v3": signature, "x-hubspot-request-timestamp": timestamp };
  return { url: TARGET, body: BODY, headers, ...more };
}

function old(text: string, version: string, more: Sent = {}): Sent {
  const signature = createHash("sha256")
    .update(SECRET + text)
    .digest("hex");
  const headers = { "x-hubspot-signature": signature, "x-hubspot-signature-version": version };
  return { url: TARGET, body: BODY, headers, ...more };
}

describe("hubspot", () => {
  it("decodes the escapes of HubSpot's list, in either case of digits, once, and no others", () => {
    expect(hubspotUrl("/%3A%2F%3F%40%21%24%27%28%29%2A%2C%3B")).toBe("/:/?@!$'()*,;");
    expect(hubspotUrl("/%3a%2f%253A%20%26%C3%A4")).toBe("/:/%253A%20%26%C3%A4");
  });

  it.each([
    ["the URL with escapes decoded", v3(`POST${DECODED}${BODY}${NOW}`)],
    ["the URL as it is", v3(`POST${TARGET}${BODY}${NOW}`)],
    ["another method", v3(`PUT${DECODED}${BODY}${NOW}`, undefined, { method: "PUT" })],
    ["a body beyond ASCII", v3(`POST${DECODED}{"a":"ä"}${NOW}`, undefined, { body: '{"a":"ä"}' })],
  ])("accepts v3 over %s", (_what, sent) => {
    expect(outcome("hubspot", sent, { keys: KEYS })).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "a URL with all escapes decoded", v3(`POST${decodeURIComponent(TARGET)}${BODY}${NOW}`)],
    ["SignatureMismatch", "another method", v3(`POST${DECODED}${BODY}${NOW}`, undefined, { method: "PUT" })],
    ["SignatureMismatch", "another body", v3(`POST${DECODED}${BODY}${NOW}`, undefined, { body: `${BODY} ` })],
    ["TimestampExpired", "an old timestamp", v3(`POST${DECODED}${BODY}${NOW - 300_001}`, String(NOW - 300_001))],
    ["TimestampInFuture", "a timestamp ahead", v3(`POST${DECODED}${BODY}${NOW + 300_001}`, String(NOW + 300_001))],
    ["TimestampMalformed", "a timestamp in seconds with blanks", v3(`POST${DECODED}${BODY} 1`, " 1")],
  ])("refuses with %s %s", (reason, _what, sent) => {
    expect(outcome("hubspot", sent, { keys: KEYS })).toBe(reason);
  });

  it("refuses a digit that was moved from the body's end into the timestamp", () => {
    const sent = v3(`POST${DECODED}5${NOW}`, `5${NOW}`, { body: "" });
    expect(outcome("hubspot", sent, { keys: KEYS, toleranceMs: 0 })).toBe("TimestampMalformed");
  });

  it("takes no older signature for v3, nor v3 for an older one", () => {
    expect(outcome("hubspot", old(BODY, "v1"), { keys: KEYS })).toBe("HeaderMissing");
    expect(outcome("hubspot-v1", v3(`POST${DECODED}${BODY}${NOW}`), { keys: KEYS })).toBe("HeaderMissing");
    expect(outcome("hubspot-v2", old(BODY, "v1"), { keys: KEYS })).toBe("SignatureMismatch");
  });

  it.each(["hubspot-v1", "hubspot-v2"])(
    "takes no body of %s that was lengthened behind what was signed",
    (provider) => {
      const head = provider === "hubspot-v2" ? `POST${TARGET}` : "";
      for (const body of [BODY, ""]) {
        // What the hash pads its input with (FIPS 180-4 §5.1), and behind it what somebody without the secret may add.
        const length = SECRET.length + head.length + body.length;
        const padding = Buffer.alloc(((119 - (length % 64)) % 64) + 9);
        padding[0] = 0x80;
        padding.writeUInt32BE(length * 8, padding.length - 4);
        const forged = Buffer.concat([Buffer.from(body), padding, Buffer.from(',{"eventId":666}]')]);
        const answer = (bytes: Buffer) => {
          const signature = createHash("sha256")
            .update(SECRET + head)
            .update(bytes)
            .digest("hex");
          return outcome(
            provider,
            { url: TARGET, body: bytes, headers: { "x-hubspot-signature": signature } },
            { keys: KEYS },
          );
        };
        expect([answer(Buffer.from(body)), answer(forged)]).toEqual(["accepted", "SignatureMismatch"]);
        expect(answer(Buffer.from('"\x80"', "latin1"))).toBe("SignatureMismatch");
      }
    },
  );

  it("accepts v1 over the body, v2 over method, URL and body", () => {
    expect(outcome("hubspot-v1", old(BODY, "v1"), { keys: KEYS })).toBe("accepted");
    expect(outcome("hubspot-v2", old(`POST${TARGET}${BODY}`, "v2"), { keys: KEYS })).toBe("accepted");
    expect(outcome("hubspot-v2", old(`GET${TARGET}${BODY}`, "v2"), { keys: KEYS })).toBe("SignatureMismatch");
  });

  it.each(["hubspot", "hubspot-v1", "hubspot-v2"])("signs for %s what it accepts", (provider) => {
    const sent = signed(provider, { url: TARGET, body: BODY }, { keys: KEYS });
    expect(outcome(provider, sent, { keys: KEYS })).toBe("accepted");
  });
});
