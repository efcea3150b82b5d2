import { describe, expect, it } from "vitest";
import type { HmacConfig, JwtConfig, SchemeConfig, VerifierConfig } from "./config.ts";
import type { SchemeDescription } from "./schemes/scheme-kind.ts";
import { createVerifier, describeScheme, isSigned, signsTime, verifierOf } from "./verifier.ts";

const HMAC: HmacConfig = {
  type: "hmac",
  header: "X-Signature",
  otherHeaders: ["X-Signature-2"],
  algorithm: "sha384",
  encoding: "base64",
  prefix: "",
  signedContent: "{header:X-Team}.{id}.{timestamp}.{body}",
  timestamp: { header: "x-at", unit: "seconds" },
};
const FUNCTION: HmacConfig = {
  ...HMAC,
  timestamp: { json: "/at", unit: "milliseconds" },
  signedContent: { description: "METHOD and body", headers: ["x-team"], contents: ({ body }) => [[body]] },
};
const JWT: JwtConfig = { type: "jwt", header: "Authorization", algorithm: "HS256", timeClaim: "exp" };
const place = (text: string) => ({ place: text, content: "nothing" });

interface Facts {
  readonly scheme: SchemeConfig;
  readonly described: Partial<SchemeDescription>;
  readonly time: boolean;
  readonly body: boolean;
  /** Of x-team, x-id and webhook-id. */
  readonly headers: readonly string[];
}

const FACTS: readonly Facts[] = [
  {
    scheme: HMAC,
    described: {
      place: "x-signature, x-signature-2",
      algorithm: "HMAC-SHA384, base64",
      content: "{header:X-Team}.{id}.{timestamp}.{body}",
    },
    time: true,
    body: true,
    headers: ["x-team", "x-id"],
  },
  { scheme: FUNCTION, described: { content: "METHOD and body" }, time: true, body: true, headers: ["x-team"] },
  {
    scheme: { ...HMAC, type: "prefix-hash", algorithm: "sha256", signedContent: "{timestamp}.{url}{body}" },
    described: { algorithm: "SHA256 of secret and content, base64" },
    time: true,
    body: true,
    headers: [],
  },
  {
    scheme: {
      ...HMAC,
      type: "public-key",
      algorithm: "ed25519",
      keyFormat: "raw-hex",
      signedContent: "{timestamp}.{id}{body}",
    },
    described: { algorithm: "Ed25519, base64" },
    time: true,
    body: true,
    headers: [],
  },
  { scheme: JWT, described: { place: "authorization", algorithm: "JWT HS256" }, time: false, body: false, headers: [] },
  {
    scheme: { ...JWT, timeClaim: "iat", bodyHashClaim: "sha" },
    described: { content: "iat, sha of the body" },
    time: true,
    body: true,
    headers: [],
  },
  {
    scheme: { type: "standard-webhooks" },
    described: { place: "webhook-signature, svix-signature", content: "{id}.{timestamp}.{body}" },
    time: true,
    body: true,
    headers: ["webhook-id"],
  },
  {
    scheme: { type: "token", header: "X-Token", prefix: "" },
    described: place("x-token"),
    time: false,
    body: false,
    headers: [],
  },
  {
    scheme: { type: "query-token", parameter: "key" },
    described: place("query parameter key"),
    time: false,
    body: false,
    headers: [],
  },
  { scheme: { type: "basic" }, described: place("authorization"), time: false, body: false, headers: [] },
  { scheme: { type: "none" }, described: place("none"), time: false, body: false, headers: [] },
  {
    scheme: {
      type: "custom",
      description: "signature in the body",
      covers: { body: false, headers: ["x-team"] },
      signsTime: true,
      create: () => verifierOf({ type: "none" }),
    },
    described: { place: "signature in the body" },
    time: true,
    body: false,
    headers: ["x-team"],
  },
];

describe.each(FACTS.map((facts) => [facts.scheme.type, facts] as const))("%s", (_type, facts) => {
  it("is described by its settings", () => {
    expect(describeScheme(facts.scheme)).toMatchObject(facts.described);
    for (const text of Object.values(describeScheme(facts.scheme))) expect(text).toMatch(/^\S.*\S$/);
  });

  it("says whether it signs a time, the body, and which headers", () => {
    const { scheme } = facts;
    const config = scheme as VerifierConfig;
    expect(signsTime(scheme)).toBe(facts.time);
    expect(isSigned(config, "body")).toBe(facts.body);
    const covered = ["x-team", "x-id", "webhook-id"].filter((header) =>
      isSigned(config, { header }, { idHeader: "X-Id" }),
    );
    expect(covered).toEqual(facts.headers);
  });

  it("makes a verifier", () => {
    expect(verifierOf(facts.scheme, { idHeader: "x-id" }).secretHeaders).toEqual(
      verifierOf(facts.scheme, { idHeader: "x-id" }).secretHeaders.map((name) => name.toLowerCase()),
    );
  });
});

describe("settings of a timestamp", () => {
  const base: HmacConfig = { ...HMAC, signedContent: "{body}" };
  it.each([
    ["in two places", { ...base, timestamp: { header: "x-at", json: "/at", unit: "seconds" } }],
    ["in none", { ...base, timestamp: { unit: "seconds" } }],
    ["in the body and in the template", { ...HMAC, timestamp: { json: "/at", unit: "seconds" } }],
  ] satisfies readonly (readonly [string, HmacConfig])[])("are refused %s", (_name, scheme) => {
    expect(() => createVerifier(scheme, { idHeader: "x-id" })).toThrowError(
      expect.objectContaining({ code: "TimestampUnclear" }),
    );
  });
});
