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
}

/** What part of a key ring a key is. `previous` and `next` are counted apart. */
export type KeyState = "current" | "previous" | "next";

/** A secret of the ring, ready for use. */
export interface VerificationKey {
  /** 8 hex digits, safe to show. */
  readonly id: string;
  /** The `keyId` written in `secretRefs`, which a sender may name in `keyIdHeader`. */
  readonly keyId?: string;
  readonly state: KeyState;
  /** Unix ms after which it is refused. */
  readonly notAfter?: number;
  /** The Secret's bytes. */
  readonly secret: Buffer;
}

/**
 * Why a request is refused, and with it the status:
 * 400 `HeaderMissing`, `TimestampMalformed`, `DedupeKeyMissing` · 401 `SignatureMalformed`, `SignatureMismatch`, `TimestampExpired`,
 * `TimestampInFuture`, `TokenMismatch`, `CredentialsMismatch` · 503 `NoUsableKey`.
 */
export type RefusalReason =
  | "HeaderMissing"
  | "TimestampMalformed"
  | "DedupeKeyMissing"
  | "SignatureMalformed"
  | "SignatureMismatch"
  | "TimestampExpired"
  | "TimestampInFuture"
  | "TokenMismatch"
  | "CredentialsMismatch"
  | "NoUsableKey";

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
    }
  | { readonly ok: false; readonly status: 400 | 401 | 503; readonly reason: RefusalReason; readonly detail: string };

/** A scheme with its settings resolved: pure, the clock is an argument (Unix ms). */
export interface Verifier {
  /** Lower-case name of the header that carries the delivery id, when the signature covers it. */
  readonly signedIdHeader?: string;
  /** Lower-case names of headers that hold a signature or secret: never kept, never shown. */
  readonly secretHeaders: readonly string[];
  verify(request: SignedRequest, keys: readonly VerificationKey[], now: number): Verdict;
  /** Headers a provider would send with this body. Keys: the first usable one signs. */
  sign(request: SignInput, keys: readonly VerificationKey[], now: number): Record<string, string>;
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
