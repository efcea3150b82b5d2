import { describe, expect, it } from "vitest";
import { Secret } from "../lib/secret.ts";
import { type CustomConfig, type HmacConfig, type SignedContent, VerificationConfigError } from "./config.ts";
import { presets } from "./presets/index.ts";
import type { Preset } from "./presets/preset.ts";
import type { VerificationKey } from "./types.ts";
import { createVerifier, readsKeyIds, schemeOf, signsUrl } from "./verifier.ts";

const HMAC: HmacConfig = {
  type: "hmac",
  header: "x-signature",
  algorithm: "sha256",
  encoding: "hex",
  prefix: "",
  signedContent: "{body}",
};
const CUSTOM: CustomConfig = {
  type: "custom",
  description: "",
  covers: { body: true },
  signsTime: false,
  create: () => {
    throw new Error("not made here");
  },
};
const content = (more: Partial<SignedContent>): SignedContent => ({ contents: () => [], description: "", ...more });

describe("signsUrl", () => {
  it.each([
    [HMAC, false],
    [{ ...HMAC, signedContent: "{method} {path}\n{body}" }, false],
    [{ ...HMAC, signedContent: "{url}{body}" }, true],
    [{ ...HMAC, signedContent: content({}) }, false],
    [{ ...HMAC, signedContent: content({ url: true }) }, true],
    [CUSTOM, false],
    [{ ...CUSTOM, covers: { body: true, url: true } }, true],
    [{ type: "standard-webhooks" } as const, false],
    [{ type: "token", header: "x-token", prefix: "" } as const, false],
  ])("of scheme %#", (scheme, expected) => {
    expect(signsUrl(scheme)).toBe(expected);
  });
});

describe("readsKeyIds", () => {
  it("is a header's part in every scheme of signed bytes, and unknown of a provider's own function", () => {
    expect(readsKeyIds(HMAC)).toBe(false);
    expect(readsKeyIds({ ...HMAC, keyIdHeader: "x-key-id" })).toBe(true);
    expect(readsKeyIds({ type: "basic" })).toBe(false);
    expect(readsKeyIds(CUSTOM)).toBe(true);
  });
});

/** Secrets in the forms that schemes ask for. */
const SECRETS = [
  "a secret of thirty-two characters",
  "00112233445566778899aabbccddeeff",
  "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
];

/** What the sender would sign, or `undefined` when only the provider can. */
function signed(preset: Preset, url: string): string | undefined {
  for (const secret of SECRETS) {
    const keys: VerificationKey[] = [{ id: "00000000", state: "current", secret: Secret.of(secret) }];
    const input = { method: "POST", url, path: "/a", body: Buffer.from("{}"), id: "1" };
    try {
      return JSON.stringify(createVerifier({ type: "provider", provider: preset.name }).sign(input, keys, 1e12));
    } catch (error) {
      if (!(error instanceof VerificationConfigError)) throw error;
    }
  }
  return undefined;
}

describe("signsUrl of every preset", () => {
  const signing = [...presets.values()].filter((preset) => signed(preset, "https://a.example/a") !== undefined);

  it("is looked at where Davit can sign as the provider does", () => {
    expect(signing.length).toBeGreaterThan(30);
  });

  it.each(signing.map((preset) => [preset.name, preset] as const))("of %s is as its signature says", (_, preset) => {
    const isOther = signed(preset, "https://a.example/a") !== signed(preset, "https://b.example/a");
    expect(signsUrl(schemeOf(preset.scheme))).toBe(isOther);
  });
});
