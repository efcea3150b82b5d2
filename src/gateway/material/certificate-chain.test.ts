import { generateKeyPairSync } from "node:crypto";
import { rootCertificates } from "node:tls";
import { describe, expect, test } from "vitest";
import { checkChain, type ChainInput, readCertificate, readCertificates } from "./certificate-chain.ts";
import { makeCertificate, type CertificateOptions, type TestCertificate } from "./testing.ts";

const NAME = "sns.us-east-1.amazonaws.com";
const NOW = Date.parse("2030-01-01");
const newKeys = () => generateKeyPairSync("rsa", { modulusLength: 2_048 });
const root = makeCertificate({ name: "Root", isAuthority: true, keys: newKeys() });
const middle = makeCertificate({ name: "Middle", isAuthority: true, issuer: root, keys: newKeys() });
const leafOf = (changes: Partial<CertificateOptions> = {}) =>
  makeCertificate({ name: NAME, dnsNames: [NAME], issuer: middle, ...changes });

function check(certificates: readonly TestCertificate[], changes: Partial<ChainInput> = {}) {
  const input = { certificates: certificates.map(({ certificate }) => certificate), names: [NAME], now: NOW };
  return checkChain({ ...input, roots: [root.certificate], ...changes });
}
const detail = (...args: Parameters<typeof check>) => {
  const result = check(...args);
  return result.ok ? "trusted" : result.detail;
};

describe("a chain of certificates", () => {
  test("leads from a certificate over another one to a root, in any order", () => {
    const leaf = leafOf();
    const result = check([leaf, root, middle]);
    expect(result).toMatchObject({ ok: true, notAfter: Date.parse("2040-01-01") });
    expect(result.ok && result.publicKey.equals(leaf.certificate.publicKey)).toBe(true);
  });

  test("may be a root's own certificate at the end", () => {
    expect(detail([leafOf({ issuer: root })])).toBe("trusted");
  });

  test("ends with the validity of the first of its certificates", () => {
    const brief = makeCertificate({
      name: "Brief",
      isAuthority: true,
      issuer: root,
      to: new Date("2031-01-01"),
      keys: newKeys(),
    });
    expect(check([leafOf({ issuer: brief }), brief])).toMatchObject({ notAfter: Date.parse("2031-01-01") });
  });

  test.each([
    ["nothing", []],
    ["a certificate that signed itself", [makeCertificate({ name: NAME, dnsNames: [NAME] })]],
    ["one whose issuer is missing", [leafOf()]],
    [
      "a root that nobody trusts",
      (() => {
        const other = makeCertificate({ name: "Root", isAuthority: true, keys: newKeys() });
        return [leafOf({ issuer: other }), other];
      })(),
    ],
    [
      "an issuer that is no authority",
      (() => {
        const customer = makeCertificate({ name: "Customer", issuer: root, keys: newKeys() });
        return [leafOf({ issuer: customer }), customer];
      })(),
    ],
    [
      "an issuer that has run out",
      (() => {
        const old = makeCertificate({
          name: "Old",
          isAuthority: true,
          issuer: root,
          to: new Date("2025-01-01"),
          keys: newKeys(),
        });
        return [leafOf({ issuer: old }), old];
      })(),
    ],
    [
      "a signature by another key under the issuer's name",
      (() => {
        const impostor = makeCertificate({ name: "Middle", isAuthority: true, keys: newKeys() });
        return [leafOf({ issuer: impostor }), middle];
      })(),
    ],
  ])("does not begin with %s", (_what, certificates) => {
    expect(detail(certificates)).toMatch(/^(no valid chain|what was fetched)/);
  });

  test.each([
    ["run out", { to: new Date("2029-01-01") }],
    ["not begun", { from: new Date("2031-01-01") }],
  ])("is refused when the certificate has %s", (_what, changes) => {
    expect(detail([leafOf(changes), middle])).toBe("the certificate is not valid now");
  });

  test("is refused when its root has run out", () => {
    expect(detail([leafOf({ to: new Date("2060-01-01") }), middle], { now: Date.parse("2045-01-01") })).not.toBe(
      "trusted",
    );
  });

  test("is refused with a weak key", () => {
    const keys = generateKeyPairSync("rsa", { modulusLength: 1_024 });
    expect(detail([leafOf({ keys }), middle])).toMatch(/too weak/);
  });

  test("says where a missing issuer may be had", () => {
    expect(check([leafOf({ issuerUrl: "http://ca.example/middle.cer" })])).toMatchObject({
      ok: false,
      issuerUrl: "http://ca.example/middle.cer",
    });
    expect(check([leafOf({ issuerUrl: "ldap://ca.example/middle" })])).not.toHaveProperty("issuerUrl");
    expect(check([leafOf()])).not.toHaveProperty("issuerUrl");
  });
});

describe("the names of a certificate", () => {
  const named = (dnsNames: string[], names: string[]) => detail([leafOf({ dnsNames }), middle], { names });
  test.each([
    [["other.example", NAME], [NAME]],
    [[NAME.toUpperCase()], [NAME]],
    [["www.paypal.com"], ["*.paypal.com"]],
    [["*.paypal.com"], ["*.paypal.com"]],
  ])("%s fit %s", (dnsNames, names) => {
    expect(named(dnsNames, names)).toBe("trusted");
  });

  test.each([
    [[], [NAME]],
    [["amazonaws.com"], [NAME]],
    [["*.us-east-1.amazonaws.com"], [NAME]],
    [[`${NAME}.evil.example`], [NAME]],
    [["evilpaypal.com"], ["*.paypal.com"]],
    [["paypal.com"], ["*.paypal.com"]],
    [["a.b.paypal.com"], ["*.paypal.com"]],
    [["*.com"], ["*.paypal.com"]],
    [[NAME], []],
  ])("%s do not fit %s", (dnsNames, names) => {
    expect(named(dnsNames, names)).toBe("the certificate is for another name");
  });
});

describe("certificates in a file", () => {
  test("are read one by one, and what is none is left out", () => {
    const broken = root.pem.replace(/\n.{10}/, "\nAAAAAAAAAA");
    expect(readCertificates(`text\n${root.pem}${broken}${middle.pem}`)).toHaveLength(2);
    expect(readCertificates(root.pem.repeat(30))).toHaveLength(10);
    expect(readCertificate(Buffer.from("no certificate"))).toBeUndefined();
  });

  test("of Node's own roots can be read", () => {
    expect(rootCertificates.filter((pem) => readCertificate(pem)?.ca !== true)).toEqual([]);
  });
});
