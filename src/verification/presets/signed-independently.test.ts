import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { keysOf, plainRequest } from "../vectors.ts";
import { createVerifier, presetOf } from "../verifier.ts";

const NOW = 1_760_000_000_000;
const SECONDS = NOW / 1_000;
const SECRET = "c2VjcmV0LW9mLXRoZS1yb3V0ZQ==";
const BODY = '{"id":"evt_1","text":"\u00fcber \ud83d\ude00"}';

const mac = (algorithm: string, content: string, key: string | Buffer = SECRET) =>
  createHmac(algorithm, key).update(content);
const hex = (content: string) => mac("sha256", content).digest("hex");

/** What each provider's document says, computed here once more and not by our engine. */
const SENT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  airtable: {
    "x-airtable-content-mac": `hmac-sha256=${mac("sha256", BODY, Buffer.from(SECRET, "base64")).digest("hex")}`,
  },
  buildkite: { "x-buildkite-signature": `timestamp=${SECONDS},signature=${hex(`${SECONDS}.${BODY}`)}` },
  clickup: { "x-signature": hex(BODY) },
  "customer-io": { "x-cio-timestamp": String(SECONDS), "x-cio-signature": hex(`v0:${SECONDS}:${BODY}`) },
  front: {
    "x-front-request-timestamp": String(NOW),
    "x-front-signature": mac("sha256", `${NOW}:${BODY}`).digest("base64"),
  },
  gitea: { "x-gitea-signature": hex(BODY) },
  gocardless: { "webhook-signature": hex(BODY) },
  knock: { "x-knock-signature": `t=${NOW},s=${mac("sha256", `${NOW}.${BODY}`).digest("base64")}` },
  launchdarkly: { "x-ld-signature": hex(BODY) },
  linkedin: { "x-li-signature": hex(`hmacsha256=${BODY}`) },
  mux: { "mux-signature": `t=${SECONDS},v1=${hex(`${SECONDS}.${BODY}`)}` },
  nylas: { "x-nylas-signature": hex(BODY) },
  paystack: { "x-paystack-signature": mac("sha512", BODY).digest("hex") },
  sanity: { "sanity-webhook-signature": `t=${NOW},v1=${mac("sha256", `${NOW}.${BODY}`).digest("base64url")}` },
  snyk: { "x-hub-signature": `sha256=${hex(BODY)}` },
  sonarqube: { "x-sonar-webhook-hmac-sha256": hex(BODY) },
  synctera: {
    "request-timestamp": String(SECONDS),
    "synctera-signature": `${"0".repeat(64)}.${hex(`${SECONDS}.${BODY}`)}`,
  },
  "terraform-cloud": { "x-tfe-notification-signature": mac("sha512", BODY).digest("hex") },
  webflow: { "x-webflow-timestamp": String(NOW), "x-webflow-signature": hex(`${NOW}:${BODY}`) },
  x: { "x-twitter-webhooks-signature": `sha256=${mac("sha256", BODY).digest("base64")}` },
};

function verify(provider: string, headers: Readonly<Record<string, string>>, body = BODY, now = NOW) {
  return createVerifier({ type: "provider", provider }).verify(
    plainRequest({ method: "POST", url: "", path: "/", headers, body: Buffer.from(body) }),
    keysOf([SECRET]),
    now,
  );
}

describe.each(Object.entries(SENT))("%s", (provider, headers) => {
  it("is accepted as its document says to sign, and refused with any byte changed", () => {
    expect(verify(provider, headers)).toMatchObject({ ok: true });
    expect(verify(provider, headers, BODY.replace("evt_1", "evt_2"))).toMatchObject({ reason: "SignatureMismatch" });
  });
});

describe.each(["buildkite", "front", "knock", "mux", "synctera", "webflow"])("%s, whose time is signed", (provider) => {
  it("is refused when it is older than its provider may send, and when it is as far ahead", () => {
    const headers = SENT[provider] ?? {};
    const oldest = presetOf(provider).toleranceMs;
    expect(oldest).toBeGreaterThanOrEqual(300_000);
    expect(verify(provider, headers, BODY, NOW + oldest)).toMatchObject({ ok: true, signedAt: NOW });
    expect(verify(provider, headers, BODY, NOW + oldest + 1_000)).toMatchObject({ reason: "TimestampExpired" });
    expect(verify(provider, headers, BODY, NOW - oldest - 1_000)).toMatchObject({ reason: "TimestampInFuture" });
  });
});

describe.each(["customer-io", "sanity"])("%s, whose time is signed but documented as good for ever", (provider) => {
  it("is accepted a week later", () => {
    expect(verify(provider, SENT[provider] ?? {}, BODY, NOW + 7 * 86_400_000)).toMatchObject({ ok: true });
  });
});

describe("a body that is no JSON object", () => {
  it.each(["x", "linkedin"])(
    "is refused by %s even when it is signed: its handshake answers with such an HMAC",
    (provider) => {
      for (const body of ["challenge_string", "890e4665-4dfe-4ab1-b689-ed553bceeed0", "12345", ' {"a":1}', "[]"]) {
        const headers =
          provider === "x"
            ? { "x-twitter-webhooks-signature": `sha256=${mac("sha256", body).digest("base64")}` }
            : { "x-li-signature": hex(`hmacsha256=${body}`) };
        expect(verify(provider, headers, body)).toMatchObject({ ok: false, status: 401 });
      }
    },
  );
});
