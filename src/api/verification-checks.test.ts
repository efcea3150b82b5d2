import { describe, expect, test } from "vitest";
import { presets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { resolveSpec } from "./defaults.ts";
import type { WebhookRouteSpec } from "./generated/webhook-route.ts";
import { VERIFICATION_CHECKS } from "./verification-checks.ts";

/** A provider as tests need it, under a name that is known. */
function presetOf(more: Partial<Preset>): Preset {
  const github = presets.get("github");
  if (github === undefined) throw new Error("github is not there");
  return { ...github, title: "Acme", ...more };
}

/** `error|warning path: message (remedy)` of each problem of a route with this preset. */
function problemsOf(more: Partial<Preset>, spec: Partial<WebhookRouteSpec> = {}): string[] {
  return problems(
    { verification: { provider: "github" }, secretRefs: [{ name: "a", key: "k" }], ...spec },
    presetOf(more),
  );
}

function problems(spec: Partial<WebhookRouteSpec> & Pick<WebhookRouteSpec, "verification">, preset?: Preset): string[] {
  const full: WebhookRouteSpec = {
    exposure: { host: "hooks.example.com", path: "/a" },
    destinations: [{ name: "own", serviceRef: { name: "own", port: 80 } }],
    ...spec,
  };
  const subject = {
    route: { apiVersion: "davit.dev/v1alpha1", kind: "WebhookRoute", metadata: { name: "a" }, spec: full },
    spec: resolveSpec(full, preset),
    preset,
    presets: new Map(preset === undefined ? [] : [["github", preset]]),
  } as const;
  const found = VERIFICATION_CHECKS.flatMap((check) => check(subject));
  return (
    found
      // The verifier itself is made of the provider that really has this name.
      .filter(({ path }) => path !== "spec.verification")
      .map(({ severity, path, message, remedy }) => `${severity} ${path}: ${message} (${remedy})`)
  );
}

const ID: Preset["dedupe"] = [{ from: "header", name: "x-id", signed: false }];
const HMAC = {
  type: "hmac",
  header: "x-signature",
  algorithm: "sha256",
  encoding: "hex",
  prefix: "",
  signedContent: "{body}",
} as const;

describe("keys that a provider needs", () => {
  const secrets = { signing: "shared", description: "the secret of the endpoint, from Settings" } as const;

  test("are named with what to put there", () => {
    const expected =
      "error spec.secretRefs: Acme needs a key with use Signing (name the Secret that holds the secret of the endpoint, from Settings)";
    expect(problemsOf({ secrets }, { secretRefs: undefined as never })).toEqual([expected]);
    expect(problemsOf({ secrets }, { secretRefs: [{ name: "a", key: "k", use: "VerifyToken" }] })).toContain(expected);
    expect(problemsOf({ secrets })).toEqual([]);
  });

  test("are none where trust comes from elsewhere, and one that is named all the same is never read", () => {
    const none = { ...secrets, signing: "none" } as const;
    expect(problemsOf({ secrets: none }, { secretRefs: undefined as never })).toEqual([]);
    expect(problemsOf({ secrets: none })).toEqual([
      "warning spec.secretRefs[0]: Acme reads no key with use Signing (remove it)",
    ]);
  });

  test("of another use fall back to the signing key, or are missing", () => {
    expect(problemsOf({ secrets: { ...secrets, others: ["VerifyToken"] } })).toEqual([
      expect.stringMatching(/^warning spec\.secretRefs: no key has use VerifyToken: .* compared with the signing keys/),
    ]);
    expect(problemsOf({ secrets: { ...secrets, others: ["ApiCredential"] } })).toEqual([
      expect.stringMatching(/^error spec\.secretRefs: Acme needs a key with use ApiCredential \(name the Secret/),
    ]);
    const trusting = { ...secrets, signing: "none", others: ["VerifyToken"] } as const;
    expect(problemsOf({ secrets: trusting }, { secretRefs: undefined as never })).toEqual([
      expect.stringMatching(/^error spec\.secretRefs: Acme needs a key with use VerifyToken/),
    ]);
  });

  test("are all there", () => {
    const others = { ...secrets, others: ["VerifyToken", "ApiCredential"] } as const;
    const secretRefs = [
      { name: "a", key: "k" },
      { name: "a", key: "t", use: "VerifyToken" },
      { name: "a", key: "c", use: "ApiCredential" },
    ] as const;
    expect(problemsOf({ secrets: others }, { secretRefs: [...secretRefs] })).toEqual([]);
    expect(problemsOf({ secrets }, { secretRefs: [...secretRefs] })).toEqual([
      "warning spec.secretRefs[1]: Acme reads no key with use VerifyToken (remove it, or write use: Signing)",
      "warning spec.secretRefs[2]: Acme reads no key with use ApiCredential (remove it, or write use: Signing)",
    ]);
  });
});

describe("parameters", () => {
  const parameters: Preset["parameters"] = [
    { name: "mode", required: false, description: "how the endpoint is set up", values: ["simple", "advanced"] },
    {
      name: "webhookId",
      required: true,
      description: "the id of the webhook, from its page",
      pattern: /^[0-9A-Z]{3}$/,
    },
  ];
  const of = (written: Record<string, string>) =>
    problemsOf({ parameters }, { verification: { provider: "github", parameters: written } });

  test("that are right are no problem", () => {
    expect(of({ webhookId: "1AB" })).toEqual([]);
    expect(of({ webhookId: "1AB", mode: "simple" })).toEqual([]);
  });

  test.each([
    [
      {},
      "error spec.verification.parameters.webhookId: Acme needs the parameter webhookId (the id of the webhook, from its page)",
    ],
    [
      { webhookId: "1ab" },
      "error spec.verification.parameters.webhookId: must match ^[0-9A-Z]{3}$ (the id of the webhook, from its page)",
    ],
    [
      { webhookId: "1AB", mode: "Simple" },
      "error spec.verification.parameters.mode: must be one of simple, advanced (how the endpoint is set up)",
    ],
    [
      { webhookId: "1AB", id: "x" },
      "error spec.verification.parameters.id: Acme has no parameter id (use mode, webhookId)",
    ],
  ])("%j is refused once, by its name", (written, expected) => {
    expect(of(written)).toEqual([expected]);
  });

  test("of a provider that has none are to be removed", () => {
    expect(problemsOf({}, { verification: { provider: "github", parameters: { a: "b" } } })).toEqual([
      "error spec.verification.parameters.a: Acme has no parameter a (remove it)",
    ]);
  });
});

describe("the clock", () => {
  const timed = {
    ...HMAC,
    signedContent: "{timestamp}{body}",
    timestamp: { header: "x-time", unit: "seconds" },
  } as const;

  test("counts only where a time is signed", () => {
    const verification = { provider: "github", tolerance: "60s" };
    expect(problemsOf({ scheme: timed }, { verification })).toEqual([]);
    expect(problemsOf({ scheme: HMAC }, { verification })).toEqual([
      "warning spec.verification.tolerance: tolerance is never looked at: Acme signs no time (remove it)",
    ]);
  });

  test("asks for an overlap as long as the tolerance, where there is one", () => {
    const rotation = { overlap: "10s" };
    const of = (more: Partial<Preset>) => problemsOf({ retryWindowMs: 0, ...more }, { rotation });
    expect(of({ scheme: timed, toleranceMs: 300_000 })).toEqual([
      expect.stringContaining("error spec.rotation.overlap: rotation.overlap (10s) must not be shorter"),
    ]);
    expect(of({ scheme: timed, toleranceMs: 0 })).toEqual([]);
    expect(of({ scheme: HMAC, toleranceMs: 300_000 })).toEqual([]);
  });
});

describe("the URL", () => {
  const scheme = { ...HMAC, signedContent: "{url}{body}" } as const;

  test("is to be written out where it is signed", () => {
    expect(problemsOf({ scheme })).toEqual([
      expect.stringMatching(
        /^warning spec\.verification\.publicUrl: Acme signs the URL .* https:\/\/hooks\.example\.com\/a /,
      ),
    ]);
    const publicUrl = "http://user:pass@hooks.example.com/a?b=c";
    expect(problemsOf({ scheme }, { verification: { provider: "github", publicUrl } })).toEqual([]);
    expect(problemsOf({ scheme: HMAC })).toEqual([]);
  });
});

describe("deliveries without an id", () => {
  test.each([
    ["Signature", "only equal signature and body within 10m are a duplicate"],
    ["Body", "equal bodies within 72h are one event"],
    ["None", "there is no dedupe: every request is a new event"],
  ] as const)("are told for what they are: %s", (withoutId, meaning) => {
    expect(problemsOf({ dedupe: [], withoutId })).toEqual([
      `warning spec.dedupe.keyFrom: Acme sends no id of an event: ${meaning} (name the header or the field that identifies a delivery, if there is one)`,
    ]);
    expect(problemsOf({ dedupe: ID, withoutId })).toEqual([]);
    expect(problemsOf({ dedupe: [], withoutId }, { dedupe: { keyFrom: ["json:/id"] } })).toEqual([]);
  });
});

describe("key ids", () => {
  const secretRefs = [{ name: "a", key: "k", keyId: "k1" }];

  test("are looked at only where the sender names its key", () => {
    expect(problemsOf({ scheme: HMAC }, { secretRefs })).toEqual([
      "warning spec.secretRefs[0].keyId: keyId is never looked at: Acme names no key (remove keyId)",
    ]);
    expect(problemsOf({ scheme: { ...HMAC, keyIdHeader: "x-key" } }, { secretRefs })).toEqual([]);
    expect(
      problems({ verification: { hmac: { header: "X-Signature" } }, secretRefs, dedupe: { keyFrom: ["json:/id"] } }),
    ).toEqual([expect.stringContaining("(set verification.hmac.keyIdHeader, or remove keyId)")]);
  });
});

describe("an unknown provider", () => {
  test("is the only problem: nothing is known of its keys and parameters", () => {
    const verification = { provider: "acme", parameters: { a: "b" }, tolerance: "1m" };
    expect(problems({ verification, secretRefs: [{ name: "a", key: "k", keyId: "k1", use: "VerifyToken" }] })).toEqual([
      expect.stringContaining('error spec.verification.provider: unknown provider "acme"'),
    ]);
  });
});
