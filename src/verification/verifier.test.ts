import { describe, expect, it } from "vitest";
import type { HmacConfig, VerifierConfig } from "./config.ts";
import { Secret } from "../lib/secret.ts";
import { presets } from "./presets/index.ts";
import type { SignedRequest, VerificationKey } from "./types.ts";
import { keysOf, plainRequest } from "./vectors.ts";
import { createVerifier, isSigned, signAs } from "./verifier.ts";

const NOW = 1_760_000_000_000;
const BODY = Buffer.from('{"id":"evt_1","type":"order.created"}');
const SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0";

const timestamped: HmacConfig = {
  type: "hmac",
  header: "X-Signature",
  algorithm: "sha512",
  encoding: "base64url",
  prefix: "v1=",
  separator: ",",
  signedContent: "{method} {url} {path} {header:X-Team}:{id}.{timestamp}.{body}",
  timestamp: { param: "t", unit: "milliseconds" },
  keyIdHeader: "X-Key-Id",
  idHeader: "X-Id",
};

const schemes: readonly (readonly [string, VerifierConfig, string])[] = [
  ["github", { type: "provider", provider: "github" }, SECRET],
  ["stripe", { type: "provider", provider: "stripe" }, `whsec_${SECRET}`],
  ["standard-webhooks", { type: "provider", provider: "standard-webhooks" }, `whsec_${SECRET}`],
  ["queue-push", { type: "provider", provider: "queue-push" }, SECRET],
  ["hmac as data", timestamped, SECRET],
  ["token", { type: "token", header: "X-Token", prefix: "Bearer " }, SECRET],
  ["basic", { type: "basic" }, "davit:pass:word"],
];

function request(
  headers: Record<string, string | readonly string[]>,
  changes: Partial<SignedRequest> = {},
): SignedRequest {
  const parts = { method: "POST", url: "https://hooks.example/é", path: "/é", headers, body: BODY };
  return plainRequest({ ...parts, ...changes });
}

function signed(
  config: VerifierConfig,
  keys: readonly VerificationKey[],
  at = NOW,
  body = BODY,
): Record<string, string> {
  const input = {
    method: "POST",
    url: "https://hooks.example/é",
    path: "/é",
    body,
    id: "msg_1",
    headers: { "x-team": "a" },
  };
  return signAs(config, keys, input, at);
}

function reasonOf(
  config: VerifierConfig,
  headers: Record<string, string | readonly string[]>,
  keys: readonly VerificationKey[],
  now = NOW,
): string {
  const verdict = createVerifier(config).verify(request(headers), keys, now);
  return verdict.ok ? "ok" : `${verdict.status} ${verdict.reason}`;
}

function withHeader(headers: Record<string, string>, name: string, value: string | string[] | undefined) {
  const { [name]: _, ...others } = headers;
  return value === undefined ? others : { ...others, [name]: value };
}

function upper(headers: Record<string, string>, name: string) {
  return withHeader(
    headers,
    name,
    (headers[name] ?? "").replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase()),
  );
}

function credentials(text: string) {
  return { authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

describe.each(schemes)("%s", (_name, config, secret) => {
  const keys = keysOf([secret]);

  it("accepts what it signed itself", () => {
    expect(reasonOf(config, signed(config, keys), keys)).toBe("ok");
  });

  it("refuses a request without its header", () => {
    expect(reasonOf(config, {}, keys)).toMatch(/^(400 HeaderMissing|401 CredentialsMismatch)$/);
  });

  it("refuses another secret", () => {
    expect(reasonOf(config, signed(config, keysOf([`${secret.slice(0, -4)}AAAA`])), keys)).toMatch(/^401 \w+Mismatch$/);
  });

  it("refuses a header that was sent twice", () => {
    const headers = signed(config, keys);
    const name = createVerifier(config).secretHeaders[0] ?? "";
    expect(reasonOf(config, withHeader(headers, name, [headers[name] ?? "", headers[name] ?? ""]), keys)).toMatch(
      /^401 /,
    );
  });

  it.each([
    ["no key", []],
    ["an empty secret", keysOf([""])],
    ["a blank secret", keysOf([" \n"])],
  ])("has no usable key with %s, whatever was signed", (_case, ring) => {
    expect(reasonOf(config, signed(config, keys), ring)).toBe("503 NoUsableKey");
  });

  it("accepts previous and next keys and says which one it was", () => {
    const current = { id: "00000001", state: "current", secret: Secret.of(`${secret.slice(0, -4)}AAAA`) } as const;
    for (const state of ["previous", "next"] as const) {
      const other: VerificationKey = { id: "00000002", state, secret: Secret.of(secret), notAfter: NOW };
      const verdict = createVerifier(config).verify(request(signed(config, keys)), [current, other], NOW);
      expect(verdict.ok && verdict.key).toMatchObject({ id: "00000002", state });
    }
  });

  it("refuses a key past its notAfter by the given clock", () => {
    const ring: VerificationKey[] = [
      { id: "00000001", state: "previous", secret: Secret.of(secret), notAfter: NOW - 1 },
    ];
    expect(reasonOf(config, signed(config, keys), ring)).toBe("503 NoUsableKey");
  });

  it("follows a ring that changes", () => {
    const verifier = createVerifier(config);
    const headers = signed(config, keys);
    expect(verifier.verify(request(headers), keysOf([""]), NOW).ok).toBe(false);
    expect(verifier.verify(request(headers), keys, NOW).ok).toBe(true);
  });
});

describe("a signature over the body", () => {
  it.each(schemes.slice(0, 5))("%s refuses a changed body", (_name, config, secret) => {
    const keys = keysOf([secret]);
    const headers = signed(config, keys, NOW, Buffer.from(`${BODY.toString()}\n`));
    expect(reasonOf(config, headers, keys)).toBe("401 SignatureMismatch");
  });
});

describe("a timestamp", () => {
  const queuePush: VerifierConfig = { type: "provider", provider: "queue-push" };
  const keys = keysOf([SECRET]);

  it.each(["", "123abc", "1e3", " 1760000000", "1760000000 ", "-1", "+1760000000", "1760000000.0", "0x10", "1,2", "٣"])(
    "is malformed or missing when it reads %j",
    (text) => {
      const headers = withHeader(signed(queuePush, keys), "x-delivery-timestamp", text);
      expect(reasonOf(queuePush, headers, keys)).toMatch(
        text === "" ? /^400 HeaderMissing$/ : /^400 TimestampMalformed$/,
      );
    },
  );

  it("is malformed when it was sent twice", () => {
    const headers = withHeader(signed(queuePush, keys), "x-delivery-timestamp", ["1760000000", "1760000000"]);
    expect(reasonOf(queuePush, headers, keys)).toBe("400 TimestampMalformed");
  });

  it("may be off by the tolerance in both directions, and not by a second more", () => {
    const headers = signed(queuePush, keys);
    expect(reasonOf(queuePush, headers, keys, NOW + 300_999)).toBe("ok");
    expect(reasonOf(queuePush, headers, keys, NOW + 301_000)).toBe("401 TimestampExpired");
    expect(reasonOf(queuePush, headers, keys, NOW - 300_000)).toBe("ok");
    expect(reasonOf(queuePush, headers, keys, NOW - 301_000)).toBe("401 TimestampInFuture");
  });

  it("inside the signature header must be there exactly once", () => {
    const stripe: VerifierConfig = { type: "provider", provider: "stripe" };
    const { "stripe-signature": signature = "" } = signed(stripe, keys);
    expect(reasonOf(stripe, { "stripe-signature": `t=1,${signature}` }, keys)).toBe("400 TimestampMalformed");
    expect(reasonOf(stripe, { "stripe-signature": signature.replace(/^t=\d+,/, "") }, keys)).toBe(
      "400 TimestampMalformed",
    );
  });

  it("is reported in Unix ms", () => {
    const verdict = createVerifier(queuePush).verify(request(signed(queuePush, keys)), keys, NOW + 5_000);
    expect(verdict).toMatchObject({ ok: true, signedAt: NOW });
  });

  it("may be written as RFC 3339", () => {
    const config: HmacConfig = {
      ...timestamped,
      signedContent: "{timestamp}{body}",
      timestamp: { header: "X-At", unit: "rfc3339" },
    };
    const headers = signed(config, keys);
    expect(headers["x-at"]).toBe("2025-10-09T08:53:20.000Z");
    expect(reasonOf(config, headers, keys)).toBe("ok");
    expect(reasonOf(config, withHeader(headers, "x-at", "2025-10-09 08:53:20Z"), keys)).toBe("400 TimestampMalformed");
  });
});

describe("hex digits", () => {
  const generic: HmacConfig = {
    type: "hmac",
    header: "x-signature",
    algorithm: "sha256",
    encoding: "hex",
    prefix: "sha256=",
    signedContent: "{body}",
  };
  const keys = keysOf([SECRET]);

  it("may be upper case in hmac and queue-push, with one canonical signature", () => {
    for (const [config, name] of [
      [generic, "x-signature"],
      [{ type: "provider", provider: "queue-push" }, "x-delivery-signature"],
    ] as const) {
      const headers = signed(config, keys);
      const verifier = createVerifier(config);
      const lowerVerdict = verifier.verify(request(headers), keys, NOW);
      const upperVerdict = verifier.verify(request(upper(headers, name)), keys, NOW);
      expect(upperVerdict).toEqual(lowerVerdict);
      expect(upperVerdict.ok && upperVerdict.signature).toMatch(/^[0-9a-f]{64}$/);
    }
  });

  it.each([
    ["github", "x-hub-signature-256"],
    ["stripe", "stripe-signature"],
  ])("must be lower case in %s", (provider, name) => {
    const config: VerifierConfig = { type: "provider", provider };
    expect(reasonOf(config, upper(signed(config, keys), name), keys)).toBe("401 SignatureMalformed");
  });
});

describe("queue-push", () => {
  const config: VerifierConfig = { type: "provider", provider: "queue-push" };
  const [k1, k2]: VerificationKey[] = [
    { id: "00000001", keyId: "k1", state: "current", secret: Secret.of("first-secret") },
    { id: "00000002", keyId: "k2", state: "previous", secret: Secret.of("second-secret") },
  ];
  const keys = [k1, k2].filter((key) => key !== undefined);

  it.each(["x-delivery-id", "x-delivery-timestamp", "x-delivery-signature"])("answers 400 without %s", (name) => {
    expect(reasonOf(config, withHeader(signed(config, keys), name, undefined), keys)).toBe("400 HeaderMissing");
  });

  it("looks only at the key that a known X-Delivery-Key-Id names", () => {
    const headers = signed(config, keys);
    expect(reasonOf(config, withHeader(headers, "x-delivery-key-id", "k1"), keys)).toBe("ok");
    expect(reasonOf(config, withHeader(headers, "x-delivery-key-id", "k2"), keys)).toBe("401 SignatureMismatch");
  });

  it("tries all keys when the key id is unknown or absent", () => {
    const headers = signed(config, keys.slice(1));
    expect(reasonOf(config, withHeader(headers, "x-delivery-key-id", "k9"), keys)).toBe("ok");
    expect(reasonOf(config, withHeader(headers, "x-delivery-key-id", undefined), keys)).toBe("ok");
  });

  it("answers 204 and demands JSON", () => {
    expect(presets.get("queue-push")).toMatchObject({ ack: { status: 204 }, payload: { format: "JSON" } });
  });
});

describe("standard webhooks", () => {
  const config: VerifierConfig = { type: "provider", provider: "standard-webhooks" };

  it("reports the delivery id it verified, under either family of names", () => {
    const keys = keysOf([SECRET]);
    const headers = signed(config, keys);
    const svix = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace("webhook-", "svix-"), value]),
    );
    for (const sent of [headers, svix]) {
      expect(createVerifier(config).verify(request(sent), keys, NOW)).toMatchObject({ ok: true, deliveryId: "msg_1" });
    }
  });

  it("never uses a public key as an HMAC secret", () => {
    const raw = Buffer.alloc(32, 7).toString("base64");
    const headers = signed(config, keysOf([`whsec_${raw}`]));
    expect(reasonOf(config, headers, keysOf([`whpk_${raw}`]))).toBe("401 SignatureMismatch");
  });

  it("signs with an ed25519 key and verifies with it", () => {
    const keys = keysOf([`whsk_${Buffer.alloc(64, 9).toString("base64")}`]);
    const headers = signed(config, keys);
    expect(headers["webhook-signature"]).toMatch(/^v1a,/);
    expect(reasonOf(config, headers, keys)).toBe("ok");
  });

  it("refuses two headers joined into one, and a list of more than 20", () => {
    const keys = keysOf([SECRET]);
    const headers = signed(config, keys);
    const one = headers["webhook-signature"] ?? "";
    for (const value of [`${one}, ${one}`, `${one},${one}`, Array.from({ length: 21 }, () => one).join(" ")]) {
      expect(reasonOf(config, withHeader(headers, "webhook-signature", value), keys)).toBe("401 SignatureMalformed");
    }
  });

  it("has no usable key when the secret is not base64", () => {
    expect(reasonOf(config, signed(config, keysOf([SECRET])), keysOf(["whsec_not base64!"]))).toBe("503 NoUsableKey");
  });
});

describe("basic credentials", () => {
  it.each([":", "user:", ":pass", "  :x", "x: ", "no colon"])("are none when they are %j", (secret) => {
    expect(reasonOf({ type: "basic" }, credentials(secret), keysOf([secret]))).toBe("503 NoUsableKey");
  });

  it("may have colons in the password, and are never split there", () => {
    const keys = keysOf(["user:a:b:c"]);
    expect(reasonOf({ type: "basic" }, credentials("user:a:b:c"), keys)).toBe("ok");
    expect(reasonOf({ type: "basic" }, credentials("user:a"), keys)).toBe("401 CredentialsMismatch");
  });
});

describe("settings that cannot work", () => {
  const base: HmacConfig = {
    type: "hmac",
    header: "x-s",
    algorithm: "sha256",
    encoding: "hex",
    prefix: "",
    signedContent: "{body}",
  };
  it.each([
    ["UnknownProvider", { type: "provider", provider: "nobody" }],
    ["UnknownPlaceholder", { ...base, signedContent: "{boddy}" }],
    ["BodyNotSigned", { ...base, signedContent: "{url}" }],
    ["TimestampUnclear", { ...base, signedContent: "{timestamp}.{body}" }],
    ["TimestampUnclear", { ...base, timestamp: { header: "x-t", unit: "seconds" } }],
    ["TimestampUnclear", { ...base, signedContent: "{timestamp}.{body}", timestamp: { param: "t", unit: "seconds" } }],
    ["IdHeaderUnknown", { ...base, signedContent: "{id}.{body}" }],
  ] satisfies readonly (readonly [string, VerifierConfig])[])("are refused as %s", (code, config) => {
    expect(() => createVerifier(config)).toThrowError(expect.objectContaining({ code }));
  });
});

describe("isSigned", () => {
  it("knows that GitHub's delivery id is not covered by the signature and Standard Webhooks' id is", () => {
    const provider = (name: string): VerifierConfig => ({ type: "provider", provider: name });
    expect(isSigned(provider("github"), { header: "x-github-delivery" })).toBe(false);
    expect(isSigned(provider("github"), "body")).toBe(true);
    expect(isSigned(provider("standard-webhooks"), { header: "webhook-id" })).toBe(true);
    expect(isSigned(timestamped, { header: "x-id" })).toBe(true);
    expect(isSigned({ type: "token", header: "x", prefix: "" }, "body")).toBe(false);
  });
});
