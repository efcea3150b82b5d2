import type { RefusalReason } from "../verification/types.ts";

/** Why a request is not accepted: the verifier's reasons and the gateway's own. Goes out as `error` in the answer's body. */
export type GatewayReason =
  | RefusalReason
  | "NotFound"
  | "RouteVanished"
  | "RouteUnusable"
  | "MethodNotAllowed"
  | "SourceNotAllowed"
  | "Suspended"
  | "StoreUnavailable"
  | "StoreFull"
  | "RateLimited"
  | "TooManyInFlight"
  | "BacklogFull"
  | "BodyTooLarge"
  | "ExpectationFailed"
  | "HostRepeated"
  | "PayloadNotJson"
  | "FieldMissing"
  | "RunIdInvalid"
  | "ScopeInvalid"
  | "CutoffInvalid"
  | "Unexpected";

/** Label `outcome` of `davit_ingest_requests_total`. */
export type Outcome =
  | "accepted"
  | "duplicate"
  | "revived"
  | "not_found"
  | "rejected"
  | "unauthenticated"
  | "limited"
  | "unavailable"
  | "too_large"
  | "unprocessable"
  | "aborted"
  | "handshake";

/** Everything about a refusal that does not depend on the request. */
export interface Refusal {
  readonly reason: GatewayReason;
  readonly status: number;
  readonly outcome: Outcome;
  /** JSON body, ready to be written. */
  readonly body: Buffer;
  /** Seconds in `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** Leaves a trace with the route: what a sender did wrong does, what is wrong with us does not. */
  readonly traced: boolean;
}

type Row = readonly [reason: GatewayReason, status: number, outcome: Outcome, message: string, retryAfter?: number];

/** Not the sender's fault, and nevertheless what whoever looks for its events must see. */
const TRACED: ReadonlySet<GatewayReason> = new Set(["NoUsableKey", "MaterialUnavailable", "HandshakeFailed"]);

function made([reason, status, outcome, message, retryAfter]: Row): Refusal {
  const body = Buffer.from(JSON.stringify({ error: reason, message }));
  return { reason, status, outcome, body, retryAfter, traced: status < 500 || TRACED.has(reason) };
}

/** Every refusal by its reason, with the statuses of the table of answers. */
export const REFUSALS: Readonly<Record<GatewayReason, Refusal>> = {
  NotFound: made(["NotFound", 404, "not_found", "nothing is received at this host and path"]),
  RouteVanished: made(["RouteVanished", 503, "unavailable", "this route was removed a short time ago", 60]),
  RouteUnusable: made(["RouteUnusable", 503, "unavailable", "this route has settings that cannot be used", 30]),
  MethodNotAllowed: made(["MethodNotAllowed", 405, "rejected", "this method is not allowed here"]),
  SourceNotAllowed: made(["SourceNotAllowed", 403, "rejected", "this client address is not allowed here"]),
  Suspended: made(["Suspended", 503, "unavailable", "this route is suspended", 60]),
  StoreUnavailable: made(["StoreUnavailable", 503, "unavailable", "the event was not stored; send it again", 2]),
  StoreFull: made(["StoreFull", 503, "unavailable", "the store is nearly full; send it again later", 30]),
  RateLimited: made(["RateLimited", 429, "limited", "too many requests", 1]),
  TooManyInFlight: made(["TooManyInFlight", 429, "limited", "too many requests at the same time", 1]),
  BacklogFull: made(["BacklogFull", 429, "limited", "too many events are waiting to be delivered", 30]),
  BodyTooLarge: made(["BodyTooLarge", 413, "too_large", "the body is larger than this route takes"]),
  ExpectationFailed: made(["ExpectationFailed", 417, "rejected", "only Expect: 100-continue is understood"]),
  HostRepeated: made(["HostRepeated", 400, "rejected", "the Host header was sent more than once"]),
  PayloadNotJson: made(["PayloadNotJson", 422, "unprocessable", "the body is not JSON in UTF-8"]),
  FieldMissing: made(["FieldMissing", 422, "unprocessable", "a required field is missing"]),
  RunIdInvalid: made([
    "RunIdInvalid",
    422,
    "unprocessable",
    "run_id must be text of 1 to 128 printable ASCII characters without blanks",
  ]),
  ScopeInvalid: made([
    "ScopeInvalid",
    422,
    "unprocessable",
    "warehouse_id or scope must be text of 1 to 128 letters, digits, '.', '_' and '-'; if both are sent they must be equal",
  ]),
  CutoffInvalid: made([
    "CutoffInvalid",
    422,
    "unprocessable",
    "expired_before must be an RFC 3339 time with an offset, such as 2026-01-31T00:00:00Z",
  ]),
  Unexpected: made(["Unexpected", 503, "unavailable", "the request could not be handled; send it again", 5]),
  HeaderMissing: made(["HeaderMissing", 400, "rejected", "a required header is missing"]),
  TimestampMalformed: made(["TimestampMalformed", 400, "rejected", "the timestamp is malformed"]),
  DedupeKeyMissing: made([
    "DedupeKeyMissing",
    400,
    "rejected",
    "a part of the delivery id is missing, or was sent twice",
  ]),
  SignatureMalformed: made(["SignatureMalformed", 401, "unauthenticated", "the signature is malformed"]),
  SignatureMismatch: made(["SignatureMismatch", 401, "unauthenticated", "the signature does not match"]),
  TimestampExpired: made(["TimestampExpired", 401, "unauthenticated", "the timestamp is too old"]),
  TimestampInFuture: made(["TimestampInFuture", 401, "unauthenticated", "the timestamp lies in the future"]),
  TokenMismatch: made(["TokenMismatch", 401, "unauthenticated", "the token does not match"]),
  CredentialsMismatch: made(["CredentialsMismatch", 401, "unauthenticated", "the credentials do not match"]),
  SignatureMissing: made(["SignatureMissing", 400, "rejected", "the body holds no signature"]),
  ChallengeMalformed: made(["ChallengeMalformed", 400, "rejected", "the challenge of this handshake is malformed"]),
  SignatureReused: made(["SignatureReused", 401, "unauthenticated", "this signature was used for another body"]),
  CertificateUntrusted: made(["CertificateUntrusted", 401, "unauthenticated", "the certificate cannot be trusted"]),
  SenderMismatch: made(["SenderMismatch", 401, "unauthenticated", "signed by or for somebody else"]),
  HandshakeClosed: made(["HandshakeClosed", 401, "unauthenticated", "this route takes no handshake: it has a key"]),
  VerifyTokenMismatch: made(["VerifyTokenMismatch", 403, "unauthenticated", "the verify token does not match"]),
  MaterialUnavailable: made([
    "MaterialUnavailable",
    503,
    "unavailable",
    "the sender's public key cannot be fetched",
    5,
  ]),
  HandshakeFailed: made([
    "HandshakeFailed",
    503,
    "unavailable",
    "the handshake could not be finished; send it again",
    5,
  ]),
  NoUsableKey: made(["NoUsableKey", 503, "unavailable", "this route has no usable key at the moment", 30]),
};
