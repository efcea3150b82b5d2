import type { Parsed } from "../lib/json-source.ts";
import type { Secret } from "../lib/secret.ts";
import type { Material, MaterialRequest } from "./material.ts";

/** Header values by lower-case name. A name sent more than once has all its values: only single-valued ones are believed. */
export type HeaderValues = (name: string) => readonly string[];

/** A request as it came in. Nothing in it is believed before {@link Verifier} says so. */
export interface SignedRequest {
  readonly method: string;
  /** The URL the sender signed: `publicUrl`, never taken from request headers. */
  readonly url: string;
  /** Path and query as received. */
  readonly path: string;
  readonly header: HeaderValues;
  /** Untouched bytes. */
  readonly body: Buffer;
  /** The body as JSON, parsed at most once. */
  json(): Parsed;
}

/** What part of a key ring a key is. `previous` and `next` are counted apart. */
export type KeyState = "current" | "previous" | "next";

/** What a secret is for: it makes or checks signatures, it is compared in a handshake, or it logs in at the provider to fetch public keys. */
export type KeyUse = "Signing" | "VerifyToken" | "ApiCredential";

/** A secret of the ring, ready for use. */
export interface VerificationKey {
  /** 8 hex digits, safe to show. */
  readonly id: string;
  /** The `keyId` written in `secretRefs`, which a sender may name in `keyIdHeader`. */
  readonly keyId?: string;
  readonly state: KeyState;
  /** Unix ms after which it is refused. */
  readonly notAfter?: number;
  readonly secret: Secret;
}

/**
 * Why a request is refused, and with it the status (`REFUSAL_STATUS`):
 * 400 `HeaderMissing`, `SignatureMissing` (in the body), `TimestampMalformed`, `DedupeKeyMissing`, `ChallengeMalformed` ·
 * 401 `SignatureMalformed`, `SignatureMismatch`, `SignatureReused`, `TimestampExpired`, `TimestampInFuture`, `TokenMismatch`, `CredentialsMismatch`,
 * `CertificateUntrusted` (host, chain or validity), `SenderMismatch` (validly signed, by or for somebody else), `HandshakeClosed` ·
 * 403 `VerifyTokenMismatch` · 503 `NoUsableKey`, `MaterialUnavailable` (certificate or public key could not be fetched), `HandshakeFailed`.
 */
export type RefusalReason =
  | "HeaderMissing"
  | "SignatureMissing"
  | "TimestampMalformed"
  | "DedupeKeyMissing"
  | "ChallengeMalformed"
  | "SignatureMalformed"
  | "SignatureMismatch"
  | "SignatureReused"
  | "TimestampExpired"
  | "TimestampInFuture"
  | "TokenMismatch"
  | "CredentialsMismatch"
  | "CertificateUntrusted"
  | "SenderMismatch"
  | "HandshakeClosed"
  | "VerifyTokenMismatch"
  | "NoUsableKey"
  | "MaterialUnavailable"
  | "HandshakeFailed";

/** Statuses of refusals. */
export type RefusalStatus = 400 | 401 | 403 | 503;

/** The verdict on a request. `detail` is one line for an operator: it names headers and offsets, never values. */
export type Verdict =
  | {
      readonly ok: true;
      /** `undefined` for `none`. */
      readonly key: Pick<VerificationKey, "id" | "state"> | undefined;
      /** Unix ms, when a timestamp is part of the signed content. */
      readonly signedAt?: number;
      /** The signature in one canonical form (case folded where the scheme allows any), for the weak dedupe key. */
      readonly signature?: string;
      /** The delivery id, when it is part of the signed content. */
      readonly deliveryId?: string;
      /**
       * Something signed that stands for one delivery, where the signature does not cover the body (Mailgun's token, a JWT): it is good for one body only,
       * else whoever saw it could send anything with it.
       */
      readonly nonce?: string;
      /**
       * For how long after its receipt the request that bears the nonce would verify again, ms: so long the nonce must be remembered, whatever the dedupe
       * window is. Absent: as long as the dedupe window.
       */
      readonly nonceGoodForMs?: number;
    }
  | { readonly ok: false; readonly status: RefusalStatus; readonly reason: RefusalReason; readonly detail: string };

/** A scheme with its settings resolved: pure, the clock is an argument (Unix ms). */
export interface Verifier {
  /** Lower-case name of the header that carries the delivery id, when the signature covers it. */
  readonly signedIdHeader?: string;
  /** Lower-case names of headers that hold a signature or secret: never kept, never shown. */
  readonly secretHeaders: readonly string[];
  /**
   * Public material at the provider that this request needs (SNS, PayPal, Plaid); absent: the scheme never needs any. Whoever calls fetches it, checks it and
   * gives it to {@link verify}. Nothing is fetched for a request that is refused here.
   */
  needs?(request: SignedRequest): MaterialRequest | Extract<Verdict, { ok: false }>;
  /** @param keys those with use `Signing` */
  verify(request: SignedRequest, keys: readonly VerificationKey[], now: number, material?: Material): Verdict;
  /**
   * What a provider would send. The first usable key signs.
   * @throws VerificationConfigError `CannotSign` when there is none, or the scheme signs with a private key that only the provider has
   */
  sign(request: SignInput, keys: readonly VerificationKey[], now: number): SignedParts;
}

/** A signed request: what {@link SignInput} has, and what signing adds or changes. */
export interface SignedParts {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body with the signature in it, for schemes that have it there. */
  readonly body?: Buffer;
  /** The query with the signature or token in it (`?token=…`), for schemes that have it there. */
  readonly query?: string;
}

export interface SignInput {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly body: Buffer;
  /** The delivery id to sign or send. */
  readonly id: string;
  /** Values of `{header:NAME}` in the signed content, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
}
