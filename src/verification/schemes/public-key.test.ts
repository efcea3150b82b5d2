import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { PublicKeyConfig } from "../config.ts";
import { keysOf, plainRequest } from "../vectors.ts";
import { verifierOf } from "../verifier.ts";

const NOW = 1_760_000_000_000;
const BODY = Buffer.from('{"id":"evt_1"}');
const CONTENT = Buffer.concat([Buffer.from("1760000000"), BODY]);

const ed = generateKeyPairSync("ed25519");
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });

const spki = (key: KeyObject) => key.export({ type: "spki", format: "der" });
const rawHex = (key: KeyObject) => spki(key).subarray(-32).toString("hex");
const base64 = (key: KeyObject) => spki(key).toString("base64");
const pem = (key: KeyObject) => String(key.export({ type: "spki", format: "pem" }));

function scheme(change: Pick<PublicKeyConfig, "algorithm" | "keyFormat"> & Partial<PublicKeyConfig>): PublicKeyConfig {
  return {
    type: "public-key",
    header: "x-signature",
    encoding: "base64",
    prefix: "",
    signedContent: "{timestamp}{body}",
    timestamp: { header: "x-at", unit: "seconds" },
    ...change,
  };
}

const DISCORD = scheme({ algorithm: "ed25519", keyFormat: "raw-hex", encoding: "hex" });
const SENDGRID = scheme({ algorithm: "ecdsa-p256", keyFormat: "spki-base64" });
const RSA1 = scheme({ algorithm: "rsa-sha1", keyFormat: "pem" });
const RSA256 = scheme({ algorithm: "rsa-sha256", keyFormat: "pem" });

function judge(config: PublicKeyConfig, signature: string, secret: string, body = BODY) {
  const headers = { "x-signature": signature, "x-at": "1760000000" };
  const request = plainRequest({ method: "POST", url: "", path: "/", headers, body });
  return verifierOf(config).verify(request, keysOf([secret]), NOW);
}

const answer = (...args: Parameters<typeof judge>) => {
  const verdict = judge(...args);
  return verdict.ok ? "ok" : verdict.reason;
};

const CASES = [
  ["ed25519", DISCORD, sign(null, CONTENT, ed.privateKey).toString("hex"), rawHex(ed.publicKey)],
  ["ecdsa-p256", SENDGRID, sign("sha256", CONTENT, p256.privateKey).toString("base64"), base64(p256.publicKey)],
  ["rsa-sha1", RSA1, sign("sha1", CONTENT, rsa.privateKey).toString("base64"), pem(rsa.publicKey)],
  ["rsa-sha256", RSA256, sign("sha256", CONTENT, rsa.privateKey).toString("base64"), pem(rsa.publicKey)],
] as const;

describe.each(CASES)("%s", (_name, config, signature, key) => {
  it("accepts what the provider signed", () => {
    expect(judge(config, signature, key)).toMatchObject({ ok: true, signedAt: NOW });
  });

  it("refuses another body, another key's signature and text that is no signature", () => {
    expect(answer(config, signature, key, Buffer.from("{}"))).toBe("SignatureMismatch");
    const bytes = Buffer.from(signature, config.encoding);
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
    expect(answer(config, bytes.toString(config.encoding), key)).toBe("SignatureMismatch");
    for (const text of ["!", `${signature}==`, ` ${signature}`, "é"]) {
      expect(answer(config, text, key)).toBe("SignatureMalformed");
    }
  });

  it.each(["", " ", "nonsense", "00".repeat(31), pem(p384.publicKey), base64(p384.publicKey)])(
    "has no usable key with %j",
    (secret) => {
      expect(answer(config, signature, secret)).toBe("NoUsableKey");
    },
  );

  it("cannot sign", () => {
    const input = { method: "POST", url: "", path: "/", body: BODY, id: "1" };
    expect(() => verifierOf(config).sign(input, keysOf([key]), NOW)).toThrowError(
      expect.objectContaining({ code: "CannotSign" }),
    );
  });
});

describe("a public key", () => {
  it("is never used with an algorithm that it was not made for", () => {
    const [, , , rsaCase] = CASES;
    expect(answer(RSA256, rsaCase[2], pem(p256.publicKey))).toBe("NoUsableKey");
    expect(answer(RSA256, rsaCase[2], pem(ed.publicKey))).toBe("NoUsableKey");
    expect(answer(SENDGRID, CASES[1][2], base64(rsa.publicKey))).toBe("NoUsableKey");
  });

  it("may be written in either case, and with a line end behind it", () => {
    expect(answer(DISCORD, CASES[0][2].toUpperCase(), rawHex(ed.publicKey).toUpperCase())).toBe("ok");
    expect(answer(DISCORD, CASES[0][2], `${rawHex(ed.publicKey)}\n`)).toBe("ok");
    expect(answer(SENDGRID, CASES[1][2], `${base64(p256.publicKey)}\n`)).toBe("ok");
  });

  it("of RSA is refused when it is short enough to be factored", () => {
    const short = generateKeyPairSync("rsa", { modulusLength: 768 });
    const signature = sign("sha256", CONTENT, short.privateKey).toString("base64");
    expect(answer(RSA256, signature, pem(short.publicKey))).toBe("NoUsableKey");
  });
});

describe("a signature by ECDSA", () => {
  it("is DER and not r and s one behind the other", () => {
    const bare = sign("sha256", CONTENT, { key: p256.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64");
    expect(answer(SENDGRID, bare, base64(p256.publicKey))).toBe("SignatureMismatch");
  });

  it("has one canonical form for one content, whatever was drawn for it", () => {
    const verdicts = [1, 2].map(() =>
      judge(SENDGRID, sign("sha256", CONTENT, p256.privateKey).toString("base64"), base64(p256.publicKey)),
    );
    const [first, second] = verdicts.map((verdict) => verdict.ok && verdict.signature);
    expect(first).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    expect(second).toBe(first);
  });
});

describe("several signatures", () => {
  it("are at most 4: each costs a check under each key", () => {
    const config = scheme({ algorithm: "ed25519", keyFormat: "raw-hex", encoding: "hex", separator: "," });
    const right = CASES[0][2];
    const wrong = "00".repeat(64);
    expect(answer(config, [wrong, wrong, wrong, right].join(","), CASES[0][3])).toBe("ok");
    expect(answer(config, [right, wrong, wrong, wrong, wrong].join(","), CASES[0][3])).toBe("SignatureMalformed");
  });
});
