/** A signature that is an HMAC over parts of the request, as data. The same fields as `spec.verification.hmac`. */
export interface HmacConfig {
  readonly type: "hmac";
  /** Header that carries the signature. */
  readonly header: string;
  readonly algorithm: "sha1" | "sha256" | "sha384" | "sha512";
  readonly encoding: "hex" | "base64" | "base64url";
  /** Text before each signature, for example `sha256=` or `v1=`. Compared as written. */
  readonly prefix: string;
  /** Separates several items in the header. Absent: the header is one signature. */
  readonly separator?: string;
  /** Template over `{body} {timestamp} {id} {method} {url} {path} {header:NAME}`; must contain `{body}`. */
  readonly signedContent: string;
  /** Where the timestamp stands: a header of its own, or a parameter (`t` in `t=…,v1=…`) of the signature header. */
  readonly timestamp?: {
    readonly header?: string;
    readonly param?: string;
    readonly unit: "seconds" | "milliseconds" | "rfc3339";
  };
  /** Header in which the sender may name the key it signed with. */
  readonly keyIdHeader?: string;
  /** Header that `{id}` stands for. */
  readonly idHeader?: string;
  /** Hex digits in either case are one signature, or only lower case is accepted. Default `any`. */
  readonly hexCase?: "any" | "lower";
  /** Headers that must be present although the signature does not cover them. */
  readonly requiredHeaders?: readonly string[];
}

/** The Standard Webhooks scheme: `webhook-id`, `webhook-timestamp`, `webhook-signature`, or the same names with `svix-`. */
export interface StandardWebhooksConfig {
  readonly type: "standard-webhooks";
}

/** A secret sent as it is. */
export interface TokenConfig {
  readonly type: "token";
  readonly header: string;
  readonly prefix: string;
}

/** A verification with everything resolved but the preset. A route's `VerificationConfig` has this shape. */
export type VerifierConfig =
  | { readonly type: "provider"; readonly provider: string }
  | HmacConfig
  | TokenConfig
  | { readonly type: "basic" }
  | { readonly type: "none" };

/** What a preset may use as its scheme. */
export type SchemeConfig = Exclude<VerifierConfig, { type: "provider" }> | StandardWebhooksConfig;

/** What a verifier needs besides the scheme. */
export interface VerifierOptions {
  /** Largest distance between the signed timestamp and the clock, past and future, in ms. Absent: the preset's, else 300,000. */
  readonly toleranceMs?: number;
  /** `spec.verification.parameters`; names per preset. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Header that `{id}` stands for when the scheme does not say: the first header of `dedupe.keyFrom`. */
  readonly idHeader?: string;
}

/** 300 s, the tolerance of most providers (Stripe, Slack, Standard Webhooks). */
export const DEFAULT_TOLERANCE_MS = 300_000;

/** Why settings make no verifier. Decide by `code`. */
export type VerificationConfigErrorCode =
  | "UnknownProvider"
  | "UnknownPlaceholder"
  | "BodyNotSigned"
  | "TimestampUnclear"
  | "IdHeaderUnknown"
  | "CannotSign";

/** Settings from which no verifier can be made. The message names the field and the remedy. */
export class VerificationConfigError extends Error {
  readonly code: VerificationConfigErrorCode;
  constructor(code: VerificationConfigErrorCode, message: string) {
    super(message);
    this.name = "VerificationConfigError";
    this.code = code;
  }
}
