import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readJsonKey } from "./json-key.ts";

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

describe("a public key in JSON", () => {
  test("is the answer itself, or stands at a pointer", () => {
    const jwk = ec.publicKey.export({ format: "jwk" });
    for (const [body, at] of [
      [jwk, {}],
      [{ key: { inner: jwk } }, { jwkAt: "/key/inner" }],
    ] as const) {
      const read = readJsonKey(json(body), at);
      expect(read.ok && read.publicKey.equals(ec.publicKey)).toBe(true);
    }
  });

  test("ends at the time that the answer says", () => {
    const jwk = ec.publicKey.export({ format: "jwk" });
    const at = { jwkAt: "/key", expiredAt: "/key/expired_at" };
    expect(readJsonKey(json({ key: { ...jwk, expired_at: 1_700_000_000 } }), at)).toMatchObject({
      notAfter: 1_700_000_000_000,
    });
    expect(readJsonKey(json({ key: { ...jwk, expired_at: null } }), at)).not.toHaveProperty("notAfter");
  });

  test("is taken without its private part", () => {
    const read = readJsonKey(json(ec.privateKey.export({ format: "jwk" })), {});
    expect(read.ok && read.publicKey.type).toBe("public");
  });

  test.each([
    ["another curve", generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey],
    ["a short RSA key", generateKeyPairSync("rsa", { modulusLength: 1_024 }).publicKey],
  ])("is not taken when it is %s", (_what, key) => {
    expect(readJsonKey(json(key.export({ format: "jwk" })), {})).toEqual({ ok: false, problem: "weak" });
  });

  test.each([
    ["notJson", Buffer.from("<html>")],
    ["noKey", json({})],
    ["noKey", json([])],
    ["noKey", json({ kty: "oct", k: "c2VjcmV0" })],
    ["noKey", json({ kty: "EC", crv: "P-256", x: 1, y: 2 })],
    ["noKey", json({ kty: "OKP", crv: "Ed25519", x: "AAAA" })],
  ])("is missing: %s", (problem, body) => {
    expect(readJsonKey(body, {})).toEqual({ ok: false, problem });
  });
});
