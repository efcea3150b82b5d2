import { describe, expect, it } from "vitest";
import type { CustomConfig, HmacConfig, SignedContent } from "./config.ts";
import { readsKeyIds, signsUrl } from "./scheme-facts.ts";

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
