import * as crypto from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { equals } from "../lib/equals.ts";
import type { SchemeConfig } from "./config.ts";
import { presets } from "./presets/index.ts";
import { type FilledSample, fillSample } from "./sample.ts";
import { sampleParameters, signedRequest } from "./testing.ts";
import type { SignedRequest, VerificationKey, Verifier } from "./types.ts";
import { keysOf } from "./vectors.ts";
import { createVerifier, verifierOf } from "./verifier.ts";

vi.mock("node:crypto", async (original) => {
  const real = await original<typeof crypto>();
  return { ...real, timingSafeEqual: vi.fn<typeof real.timingSafeEqual>(real.timingSafeEqual) };
});
vi.mock("../lib/equals.ts", async (original) => {
  const real = await original<{ equals: typeof equals }>();
  return { ...real, equals: vi.fn<typeof real.equals>(real.equals) };
});

const NOW = 1_760_000_000_000;
const ID = "9f2b1c44-7f0e-4a54-9a3c-5a1f0e7c2b11";

/** 64 hex digits are a key in every form that providers write one in: as it is, hex or base64. */
const RIGHT = keysOf(["0123456789abcdef".repeat(4)]);
const WRONG = keysOf(["fedcba9876543210".repeat(4)]);
const BASIC = [keysOf(["davit:right"]), keysOf(["davit:wrong"])] as const;

interface Subject {
  readonly verifier: Verifier;
  readonly request: SignedRequest;
  readonly right: readonly VerificationKey[];
  readonly wrong: readonly VerificationKey[];
}

const signature = { header: "x-signature", encoding: "hex", prefix: "", signedContent: "{body}" } as const;

/** Kinds of schemes with a shared secret, also those that no preset uses. */
const SCHEMES: readonly (readonly [string, SchemeConfig])[] = [
  ["hmac", { type: "hmac", algorithm: "sha512", ...signature }],
  ["hmac in base64url", { type: "hmac", algorithm: "md5", ...signature, encoding: "base64url" }],
  ["prefix-hash", { type: "prefix-hash", algorithm: "sha256", ...signature }],
  ["jwt", { type: "jwt", header: "authorization", algorithm: "HS256", timeClaim: "exp" }],
  ["jwt over the body", { type: "jwt", header: "x-jwt", algorithm: "HS256", timeClaim: "iat", bodyHashClaim: "sha" }],
  ["standard-webhooks", { type: "standard-webhooks" }],
  ["token", { type: "token", header: "x-token", prefix: "Bearer " }],
  ["query-token", { type: "query-token", parameter: "token" }],
  ["basic", { type: "basic" }],
];

const subjects: readonly (readonly [string, () => Subject])[] = [
  ...SCHEMES.map(([name, scheme]) => [name, () => subjectOf(verifierOf(scheme), scheme.type === "basic")] as const),
  ...[...presets.values()]
    .filter(({ secrets }) => secrets.signing === "shared")
    .map((preset) => {
      const make = () => {
        const parameters = sampleParameters(preset);
        const verifier = createVerifier({ type: "provider", provider: preset.name }, { parameters });
        return subjectOf(verifier, false, fillSample(preset.sample, { id: ID, now: NOW }));
      };
      return [`preset ${preset.name}`, make] as const;
    }),
];

function subjectOf(
  verifier: Verifier,
  isBasic: boolean,
  { body, headers }: FilledSample = { body: Buffer.from('{"id":1}'), headers: {} },
): Subject {
  const [right, wrong] = isBasic ? BASIC : [RIGHT, WRONG];
  const input = { method: "POST", url: "https://hooks.example/in", path: "/in", body, id: ID, headers };
  return { verifier, request: signedRequest(input, verifier.sign(input, right, NOW)), right, wrong };
}

afterEach(() => {
  vi.mocked(crypto.timingSafeEqual).mockReset();
  vi.mocked(equals).mockReset();
});

describe.each(subjects)("%s", (_name, make) => {
  it("takes constant time to compare what was sent with what is right", () => {
    const { verifier, request, right } = make();
    vi.mocked(crypto.timingSafeEqual).mockClear();
    expect(verifier.verify(request, right, NOW)).toMatchObject({ ok: true });
    expect(crypto.timingSafeEqual).toHaveBeenCalled();
  });

  it("is decided by that comparison and by nothing else", () => {
    const { verifier, request, right, wrong } = make();
    expect(verifier.verify(request, wrong, NOW)).toMatchObject({ ok: false, status: 401 });
    vi.mocked(equals).mockReturnValue(true);
    expect(verifier.verify(request, wrong, NOW)).toMatchObject({ ok: true });
    vi.mocked(equals).mockReturnValue(false);
    expect(verifier.verify(request, right, NOW)).toMatchObject({ ok: false, status: 401 });
  });
});

it("covers more than half of all presets: the others have no secret in common with their sender", () => {
  expect(subjects.length - SCHEMES.length).toBeGreaterThan(presets.size / 2);
});
