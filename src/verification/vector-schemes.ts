import type { SchemeConfig, VerifierConfig } from "./config.ts";
import { presets } from "./presets/index.ts";
import type { SignatureCase } from "./vectors.ts";

/** How the cases of a scheme are judged, as data. */
export interface SchemeBinding {
  /** Names of presets, the first that there is counts. `$provider` stands for the provider of the case. */
  readonly presets: readonly string[];
  /** Only presets with a scheme of this type count. */
  readonly schemeType?: SchemeConfig["type"];
  /** What judges when there is no such preset. */
  readonly orElse?: (testCase: SignatureCase) => VerifierConfig;
  /** Parameters of the route; those that the preset does not know are left out. */
  readonly parameters?: (testCase: SignatureCase) => Readonly<Record<string, string>>;
  /**
   * What the case calls its secret: a key (default), a key in a form that the preset reads by itself, or public knowledge that is a parameter
   * (`topicArn`, `webhookId`). `jwk`: the public key that the provider would hand out for its `kid`.
   */
  readonly secret?: "as-written" | "parameter" | "jwk";
}

const HEX_HMAC = { type: "hmac", encoding: "hex", hexCase: "lower", signedContent: "{body}" } as const;

/** Every scheme of the vectors by the name it has there. */
const BINDINGS: Readonly<Record<string, SchemeBinding>> = {
  "github-sha256": { presets: ["github"] },
  "hub-sha256": {
    presets: ["$provider", "bitbucket"],
    orElse: () => ({ ...HEX_HMAC, header: "x-hub-signature", prefix: "sha256=", algorithm: "sha256" }),
  },
  "meta-sha256": { presets: ["$provider", "meta"] },
  "hub-sha1": {
    presets: ["$provider", "intercom"],
    orElse: () => ({ ...HEX_HMAC, header: "x-hub-signature", prefix: "sha1=", algorithm: "sha1" }),
  },
  "gitlab-token": { presets: ["gitlab"] },
  "gitlab-signed": { presets: ["gitlab-signed", "standard-webhooks"] },
  "standard-webhooks-v1": {
    presets: ["$provider-signed", "$provider", "standard-webhooks"],
    schemeType: "standard-webhooks",
  },
  "standard-webhooks-v1a": {
    presets: ["$provider-signed", "$provider", "standard-webhooks"],
    schemeType: "standard-webhooks",
  },
  "slack-v0": { presets: ["slack"] },
  "stripe-v1": { presets: ["stripe"] },
  "twilio-form": { presets: ["twilio"] },
  "twilio-bodysha256": { presets: ["twilio"] },
  "hubspot-v3": { presets: ["hubspot"] },
  "hubspot-v1": { presets: ["hubspot-v1"] },
  "hubspot-v2": { presets: ["hubspot-v2"] },
  "box-v1": { presets: ["box"] },
  "adyen-item": { presets: ["adyen"], secret: "as-written" },
  "adyen-raw": { presets: ["adyen-platform"], secret: "as-written" },
  "circleci-v1": { presets: ["circleci"] },
  "pagerduty-v1": { presets: ["pagerduty"] },
  "vercel-sha1": { presets: ["vercel"] },
  "zoom-v0": { presets: ["zoom"] },
  "discord-ed25519": { presets: ["discord"], secret: "as-written" },
  "sendgrid-ecdsa": { presets: ["sendgrid"], secret: "as-written" },
  "convoy-simple": { presets: ["convoy"], parameters: () => ({ mode: "simple" }) },
  "convoy-advanced": { presets: ["convoy"], parameters: () => ({ mode: "advanced" }) },
  "hmac-primitive": {
    presets: ["outpost"],
    parameters: ({ extra }) => ({
      header: "x-signature",
      prefix: "",
      algorithm: text(extra?.["alg"]) ?? "sha256",
      encoding: "hex",
    }),
  },
  "outpost-v0": { presets: ["outpost"] },
  "mailgun-body": { presets: ["mailgun"] },
  "plaid-jwt": { presets: ["plaid"], secret: "jwk", parameters: () => ({ clientId: "vectors" }) },
  "monday-jwt": { presets: ["monday"] },
  "paypal-rsa": { presets: ["paypal"], secret: "parameter", parameters: (one) => ({ webhookId: firstSecret(one) }) },
  "sns-v1": { presets: ["aws-sns"], secret: "parameter", parameters: (one) => ({ topicArn: firstSecret(one) }) },
  "sns-v2": { presets: ["aws-sns"], secret: "parameter", parameters: (one) => ({ topicArn: firstSecret(one) }) },
  "static-header": {
    presets: ["$provider"],
    orElse: ({ extra }) => ({ type: "token", header: text(extra?.["header"]) ?? "authorization", prefix: "" }),
  },
  "graph-client-state": { presets: ["ms-graph"] },
};

/** Names of providers in vectors where the preset is called otherwise. */
const ALIASES: Readonly<Record<string, string>> = {
  "x-twitter": "x",
  twitter: "x",
  "microsoft-graph": "ms-graph",
  sns: "aws-sns",
  whatsapp: "meta",
};

/** The preset's name for the provider of a case. */
export function presetNameOf(provider: string): string {
  return presets.has(provider) ? provider : (ALIASES[provider] ?? provider);
}

/** Any other scheme is the one that its provider has, or the preset that is named as it is. */
const UNNAMED: SchemeBinding = { presets: ["$provider"] };

/** What judges the cases of a scheme. `undefined`: no preset of Davit knows it. */
export function bindingOf(testCase: SignatureCase): { binding: SchemeBinding; config: VerifierConfig } | undefined {
  const named = Object.hasOwn(BINDINGS, testCase.scheme) ? BINDINGS[testCase.scheme] : undefined;
  const binding = named ?? { ...UNNAMED, presets: [testCase.scheme, ...UNNAMED.presets] };
  const names = binding.presets.map((name) => name.replace("$provider", presetNameOf(testCase.provider ?? "")));
  const name = names.find((candidate) => isPreset(candidate, binding.schemeType));
  if (name !== undefined) return { binding, config: { type: "provider", provider: name } };
  const config = binding.orElse?.(testCase);
  return config && { binding, config };
}

function isPreset(name: string, schemeType: SchemeConfig["type"] | undefined): boolean {
  const preset = presets.get(name);
  if (preset === undefined || schemeType === undefined) return preset !== undefined;
  return typeof preset.scheme === "object" && preset.scheme.type === schemeType;
}

function firstSecret({ secret }: SignatureCase): string {
  return [secret].flat()[0] ?? "";
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
