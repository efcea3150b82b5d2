import { generateKeyPairSync, sign } from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Material } from "../../material.ts";
import { createVerifier } from "../../verifier.ts";
import { NOW, judge, outcome, requestOf, signed, verifierOf, type Route, type Sent } from "../testing.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const WEBHOOK = "1JE4291016473214C";
const ID = "69cd13f0-d67a-11e5-baa3-778b53f4ae55";
const TIME = "2024-06-10T06:13:20Z";
const CERT = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-1d93a270";
const BODY = '{"id":"WH-2WR32451HC0233532-67976317FL4543714","event_type":"PAYMENT.SALE.COMPLETED"}';

function request(changes: Readonly<Record<string, string | readonly string[]>> = {}, text?: string, body = BODY): Sent {
  const content = text ?? `${ID}|${TIME}|${WEBHOOK}|${crc32(body)}`;
  return {
    body,
    headers: {
      "paypal-transmission-id": ID,
      "paypal-transmission-time": TIME,
      "paypal-cert-url": CERT,
      "paypal-auth-algo": "SHA256withRSA",
      "paypal-transmission-sig": sign("RSA-SHA256", Buffer.from(content), privateKey).toString("base64"),
      ...changes,
    },
  };
}

function route(changes: Partial<Material> = {}, more: Route = {}): Route {
  return { parameters: { webhookId: WEBHOOK }, material: { id: CERT, publicKey, ...changes }, ...more };
}

describe("paypal", () => {
  it("accepts id, time, webhook id and the body's CRC-32 in decimal, and gives the id as good for one body", () => {
    expect(judge("paypal", request(), route())).toMatchObject({ ok: true, nonce: ID, signedAt: NOW });
    const high = "0";
    expect(crc32(high)).toBeGreaterThan(2 ** 31);
    expect(outcome("paypal", request({}, undefined, high), route())).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "another body", { ...request(), body: `${BODY} ` }],
    ["SignatureMismatch", "another webhook", request({}, `${ID}|${TIME}|OTHER|${crc32(BODY)}`)],
    ["SignatureMismatch", "a CRC in hex", request({}, `${ID}|${TIME}|${WEBHOOK}|${crc32(BODY).toString(16)}`)],
    ["SignatureMismatch", "another id", request({ "paypal-transmission-id": `${ID}0` })],
    ["SignatureMismatch", "another time", request({ "paypal-transmission-time": TIME.replace("Z", "+00:00") })],
    ["SignatureMalformed", "an id into which the time was moved", request({ "paypal-transmission-id": `${ID}|x` })],
    ["SignatureMalformed", "another algorithm", request({ "paypal-auth-algo": "MD5withRSA" })],
    ["SignatureMalformed", "an algorithm in lower case", request({ "paypal-auth-algo": "sha256withrsa" })],
    ["SignatureMalformed", "two signatures", request({ "paypal-transmission-sig": ["eA==", "eA=="] })],
    ["SignatureMalformed", "a signature that is no base64", request({ "paypal-transmission-sig": "x y" })],
    ["TimestampMalformed", "a time that is none", request({ "paypal-transmission-time": "now" })],
    ["TimestampMalformed", "two times", request({ "paypal-transmission-time": [TIME, TIME] })],
    ["CertificateUntrusted", "two certificates", request({ "paypal-cert-url": [CERT, CERT] })],
    ["HeaderMissing", "no signature", request({ "paypal-transmission-sig": [] })],
    ["HeaderMissing", "no algorithm", request({ "paypal-auth-algo": "" })],
    ["HeaderMissing", "no certificate", request({ "paypal-cert-url": [] })],
    ["HeaderMissing", "no id", request({ "paypal-transmission-id": [] })],
  ])("refuses with %s %s", (reason, _what, sent) => {
    expect(outcome("paypal", sent, route())).toBe(reason);
  });

  it.each([
    "https://paypal.com.evil.example/cert.pem",
    "https://evilpaypal.com/cert",
    "https://api-paypal.com/cert",
    "https://evil.example/api.paypal.com/cert",
    "https://evil.example#.paypal.com/cert",
    "https://api.paypal.com@evil.example/cert",
    "https://user@api.paypal.com/cert",
    "https://api.paypal.com:8443/cert",
    "https://api.paypal.com/cert?redirect=https://evil.example",
    "https://api.paypal.com",
    "https://.paypal.com/cert",
    "http://api.paypal.com/cert",
    "HTTPS://API.PAYPAL.COM/cert",
    "api.paypal.com/cert",
  ])("never asks for a certificate at %s", (url) => {
    const sent = request({ "paypal-cert-url": url });
    expect(verifierOf("paypal", route()).needs?.(requestOf(sent))).toMatchObject({ reason: "CertificateUntrusted" });
    expect(outcome("paypal", sent, route({ id: url }))).toBe("CertificateUntrusted");
  });

  it("asks for the certificate that PayPal names, made out to its signing names", () => {
    expect(verifierOf("paypal", route()).needs?.(requestOf(request()))).toMatchObject({
      kind: "certificate",
      url: CERT,
      id: CERT,
      certificateNames: ["messageverificationcerts.paypal.com", "messageverificationcerts.sandbox.paypal.com"],
    });
  });

  it("believes no certificate but the one that was asked for, in its time", () => {
    const { publicKey: other } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    expect(outcome("paypal", request(), { parameters: { webhookId: WEBHOOK } })).toBe("MaterialUnavailable");
    expect(outcome("paypal", request(), route({ id: `${CERT}x` }))).toBe("MaterialUnavailable");
    expect(outcome("paypal", request(), route({ publicKey: other }))).toBe("SignatureMismatch");
    expect(outcome("paypal", request(), route({ notAfter: NOW - 1 }))).toBe("CertificateUntrusted");
  });

  it("lets events be late unless the route says how late", () => {
    const late = { now: NOW + 86_400_000 };
    expect(outcome("paypal", request(), route({}, late))).toBe("accepted");
    expect(outcome("paypal", request(), route({}, { ...late, toleranceMs: 300_000 }))).toBe("TimestampExpired");
  });

  it("cannot be imitated, and needs the webhook's id", () => {
    expect(() => signed("paypal", { body: "{}" }, route())).toThrow(
      expect.objectContaining({ code: "CannotSign", message: expect.stringContaining("only PayPal") }),
    );
    expect(() => createVerifier({ type: "provider", provider: "paypal" })).toThrow(
      expect.objectContaining({ code: "ParameterMissing" }),
    );
  });
});
