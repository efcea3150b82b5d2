import type { MaterialRequest } from "./material.ts";
import type { Refusal } from "./refusal.ts";
import type { SignedRequest, Verifier } from "./types.ts";

/** Bytes in their parts, one behind the other. Text is latin1: one byte a character, as header values are. */
export type Content = readonly (string | Buffer)[];

/** What a request says of itself, for a {@link SignedContent}. */
export interface ContentClaims {
  /** As sent. */
  readonly timestamp: string | undefined;
  readonly id: string | undefined;
  /** Value of a parameter of the signature header, such as `h` of `t=…,h=…,v1=…`; `undefined` when it is missing or there twice. */
  readonly param: (name: string) => string | undefined;
}

/** The signed content where a template cannot say it. Several contents: a provider signs one of them, and any may match (at most 4). */
export interface SignedContent {
  readonly contents: (request: SignedRequest, claims: ContentClaims) => readonly Content[] | Refusal;
  /** Lower-case names of headers it covers. It must cover the body. */
  readonly headers?: readonly string[];
  /**
   * The body is covered, but not where its fields begin and end (Twilio joins them without a border): no field counts as covered, and a
   * signature is good for one body. Absent: false.
   */
  readonly blursBody?: boolean;
  /** It covers the URL that is set up at the sender, scheme, host or query included: what `publicUrl` says must be exact. */
  readonly url?: boolean;
  /** One line for people, for example `METHOD + URL + body + timestamp`. */
  readonly description: string;
}

/** How the Secret's value becomes key bytes. Nearly all providers use the text as it is, even where it looks like base64 (Stripe, Zendesk). */
export type SecretEncoding = "raw" | "hex" | "base64";

/** Where signatures stand and what they cover: common to every scheme that signs a request as bytes. */
export interface SignatureConfig {
  /** Header that carries the signature. */
  readonly header: string;
  /** Further headers that may carry one: another name, or one per key (DocuSign). All that are there are read; one is enough. */
  readonly otherHeaders?: readonly string[];
  readonly encoding: "hex" | "base64" | "base64url";
  /** Text before each signature, for example `sha256=` or `v1=`. Compared as written. */
  readonly prefix: string;
  /** Separates several items in the header. Absent: the header is one signature. */
  readonly separator?: string;
  /** The prefix stands once, before the whole list (`v0=a,b`). */
  readonly prefixOnce?: boolean;
  /** Template over `{body} {timestamp} {id} {method} {url} {path} {header:NAME}` that contains `{body}`, or a function of the provider. */
  readonly signedContent: string | SignedContent;
  /**
   * Where the timestamp stands: a header of its own, a parameter (`t` in `t=…,v1=…`) of the signature header, or a field of the signed body (JSON pointer).
   */
  readonly timestamp?: {
    readonly header?: string;
    readonly param?: string;
    readonly json?: string;
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
  /** Default `raw`. */
  readonly secretEncoding?: SecretEncoding;
}

/** A signature that is an HMAC over parts of the request, as data. `spec.verification.hmac` is a part of it. */
export interface HmacConfig extends SignatureConfig {
  readonly type: "hmac";
  /** `md5` is there for senders who are set up so (Outpost); no manifest can ask for it. */
  readonly algorithm: "md5" | "sha1" | "sha256" | "sha384" | "sha512";
}

/** A plain hash over secret and content, for the oldest HubSpot signatures. A hash of this form can be extended by who knows one: prefer anything else. */
export interface PrefixHashConfig extends SignatureConfig {
  readonly type: "prefix-hash";
  readonly algorithm: "sha256";
}

/** A signature that a public key checks: the Secret holds the public key as the provider shows it, or it is fetched from the provider. */
export interface PublicKeyConfig extends SignatureConfig {
  readonly type: "public-key";
  /** `ecdsa-p256`: SHA-256, signature in DER. `rsa-*`: PKCS #1 v1.5. */
  readonly algorithm: "ed25519" | "ecdsa-p256" | "rsa-sha1" | "rsa-sha256";
  /** How the Secret writes the key: 32 bytes in hex (Discord), SubjectPublicKeyInfo in base64 (SendGrid), or PEM. */
  readonly keyFormat: "raw-hex" | "spki-base64" | "pem";
}

/** A JSON Web Token (RFC 7519) in a header, its algorithm fixed beforehand: what the token says of its own algorithm is never believed. */
export interface JwtConfig {
  readonly type: "jwt";
  readonly header: string;
  /** Text before the token, for example `Bearer `; compared as written, may be absent in the request when `prefixOptional`. */
  readonly prefix?: string;
  readonly prefixOptional?: boolean;
  readonly algorithm: "HS256" | "ES256" | "RS256";
  /** Claim with the hex SHA-256 of the body. Absent: the body is not covered; a token with an id (`jti`) is good for one body only. */
  readonly bodyHashClaim?: string;
  /** Claim that must be there and holds the time: `iat` is held against the tolerance, `exp` against the clock. */
  readonly timeClaim: "iat" | "exp";
  /** Where the public key comes from, for ES256 and RS256 whose key is not in the Secret. */
  readonly key?: (kid: string) => MaterialRequest;
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

/** A secret sent as a parameter of the URL's query, for senders that can do nothing else (Docker Hub). */
export interface QueryTokenConfig {
  readonly type: "query-token";
  readonly parameter: string;
}

/** A scheme that no data describes: the provider's own function, beside its preset. Pure. */
export interface CustomConfig {
  readonly type: "custom";
  /** One line for people: where the signature stands and what it covers. */
  readonly description: string;
  /**
   * What the signature covers. `fields`: JSON pointers of what it covers of a body that it does not cover as a whole. `url`: the one that is set up at the
   * sender, which `publicUrl` must then say exactly.
   */
  readonly covers: {
    readonly body: boolean;
    readonly fields?: readonly string[];
    readonly headers?: readonly string[];
    readonly url?: boolean;
  };
  /** A signed timestamp is held against the tolerance. */
  readonly signsTime: boolean;
  readonly create: (options: VerifierOptions) => Verifier;
}

/** `spec.verification.hmac` with its defaults: as much of an HMAC scheme as a manifest can say. */
export type ManifestHmacConfig = Pick<
  HmacConfig,
  "type" | "header" | "encoding" | "prefix" | "separator" | "keyIdHeader"
> & {
  readonly algorithm: Exclude<HmacConfig["algorithm"], "md5">;
  readonly signedContent: string;
  readonly timestamp?: Omit<NonNullable<HmacConfig["timestamp"]>, "json">;
};

/** The verification of a route: a preset's name, or a scheme as data. Plain JSON, part of a route's entry. */
export type RouteVerification =
  | { readonly type: "provider"; readonly provider: string }
  | ManifestHmacConfig
  | TokenConfig
  | { readonly type: "basic" }
  | { readonly type: "none" };

/** A verification with everything resolved but the preset. */
export type VerifierConfig = RouteVerification | HmacConfig;

/** What a preset may use as its scheme. */
export type SchemeConfig =
  | Exclude<VerifierConfig, { type: "provider" }>
  | StandardWebhooksConfig
  | PrefixHashConfig
  | PublicKeyConfig
  | JwtConfig
  | QueryTokenConfig
  | CustomConfig;

/** A scheme, or one chosen by the route's parameters (a sender that can be set up in several ways). */
export type PresetScheme = SchemeConfig | ((parameters: Readonly<Record<string, string>>) => SchemeConfig);

/** What a verifier needs besides the scheme. */
export interface VerifierOptions {
  /** Largest distance between the signed timestamp and the clock, past and future, in ms. 0: not checked. Absent: the preset's, else 300,000. */
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
  | "ParameterMissing"
  | "ParameterInvalid"
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
