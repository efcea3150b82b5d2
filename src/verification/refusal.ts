import type { RefusalReason, RefusalStatus, SignedRequest, Verdict } from "./types.ts";

/** A verdict that refuses. */
export type Refusal = Extract<Verdict, { ok: false }>;

/** The status of each reason, unless a preset says otherwise. The table of answers in `docs/` is made from it. */
export const REFUSAL_STATUS: Readonly<Record<RefusalReason, RefusalStatus>> = {
  HeaderMissing: 400,
  SignatureMissing: 400,
  TimestampMalformed: 400,
  DedupeKeyMissing: 400,
  ChallengeMalformed: 400,
  SignatureMalformed: 401,
  SignatureMismatch: 401,
  SignatureReused: 401,
  TimestampExpired: 401,
  TimestampInFuture: 401,
  TokenMismatch: 401,
  CredentialsMismatch: 401,
  CertificateUntrusted: 401,
  SenderMismatch: 401,
  HandshakeClosed: 401,
  VerifyTokenMismatch: 403,
  NoUsableKey: 503,
  MaterialUnavailable: 503,
  HandshakeFailed: 503,
};

/** Refuses with the reason's status. `detail` is one line without values. */
export function refuse(reason: RefusalReason, detail: string): Refusal {
  return { ok: false, status: REFUSAL_STATUS[reason], reason, detail };
}

/** The refusal when no key of the ring can be used. */
export const NO_USABLE_KEY: Refusal = refuse(
  "NoUsableKey",
  "no usable key: the Secret or its key is missing, empty, not decodable or past its notAfter",
);

/**
 * The one value of a header. Sent twice it is malformed: proxies and frameworks disagree on which value counts (RFC 9110 §5.3).
 * An empty value counts as missing.
 */
export function singleHeader(
  request: Pick<SignedRequest, "header">,
  name: string,
  malformed: RefusalReason,
): string | Refusal {
  return singleValue(request.header(name), name, malformed);
}

/** {@link singleHeader} of values that were looked up already. */
export function singleValue(values: readonly string[], name: string, malformed: RefusalReason): string | Refusal {
  if (values.length > 1) return refuse(malformed, `header ${name} was sent ${values.length} times`);
  const value = values[0];
  if (value === undefined) return refuse("HeaderMissing", `header ${name} is missing`);
  if (value === "") return refuse("HeaderMissing", `header ${name} is empty`);
  return value;
}
