import { S3ServiceException } from "@aws-sdk/client-s3";
import { StoreError, type StoreErrorReason } from "../port.ts";

/** What an error says of its call: only what is known to carry no secret. */
interface Meaning {
  readonly reason: StoreErrorReason;
  readonly retryable: boolean;
  /** For people; starts in lower case. */
  readonly text: string;
}

const permanent = (reason: StoreErrorReason, text: string): Meaning => ({ reason, retryable: false, text });
const transient = (reason: StoreErrorReason, text: string): Meaning => ({ reason, retryable: true, text });

const CREDENTIALS = permanent("InvalidCredentials", "the store does not accept the credentials");
const DENIED = permanent("AccessDenied", "the credentials do not have the right for it");
const THROTTLED = transient("SlowDown", "the store asks for fewer requests");
const BROKEN = transient("StoreUnavailable", "the store failed");
const TIMED_OUT = transient("Timeout", "the store took too long");
const ABSENT = permanent("NoSuchKey", "there is no such object");
const OTHER_REGION = permanent("RefusedByStore", "the bucket is in another region; correct spec.s3.region");

/** Codes of S3 (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html), of STS for Pods that are known by their service account, and names of the SDK. */
const BY_NAME: ReadonlyMap<string, Meaning> = new Map([
  ["AbortError", transient("Aborted", "given up")],
  ["TimeoutError", TIMED_OUT],
  ["InvalidAccessKeyId", CREDENTIALS],
  ["SignatureDoesNotMatch", CREDENTIALS],
  ["ExpiredToken", permanent("InvalidCredentials", "the credentials have expired")],
  ["ExpiredTokenException", permanent("InvalidCredentials", "the credentials have expired")],
  ["InvalidToken", CREDENTIALS],
  ["TokenRefreshRequired", permanent("InvalidCredentials", "the credentials have expired")],
  ["InvalidSecurity", CREDENTIALS],
  ["InvalidIdentityToken", CREDENTIALS],
  ["CredentialsProviderError", transient("InvalidCredentials", "no credentials could be had")],
  ["RequestTimeTooSkewed", permanent("ClockSkew", "the clocks of this machine and of the store differ too much")],
  ["NoSuchBucket", permanent("BucketNotFound", "there is no such bucket")],
  ["NoSuchKey", ABSENT],
  ["NoSuchVersion", ABSENT],
  ["NotFound", ABSENT],
  ["AccessDenied", DENIED],
  ["SlowDown", THROTTLED],
  ["ServiceUnavailable", THROTTLED],
  ["Throttling", THROTTLED],
  ["ThrottlingException", THROTTLED],
  ["TooManyRequests", THROTTLED],
  ["RequestLimitExceeded", THROTTLED],
  ["RequestTimeout", TIMED_OUT],
  ["InternalError", BROKEN],
  ["OperationAborted", BROKEN],
  ["PermanentRedirect", OTHER_REGION],
  ["TemporaryRedirect", OTHER_REGION],
  ["AuthorizationHeaderMalformed", OTHER_REGION],
  ["IllegalLocationConstraintException", OTHER_REGION],
]);

const BY_STATUS: readonly (readonly [least: number, most: number, Meaning])[] = [
  [300, 399, OTHER_REGION],
  [401, 401, CREDENTIALS],
  [403, 403, DENIED],
  [404, 404, ABSENT],
  [408, 408, TIMED_OUT],
  [429, 429, THROTTLED],
  [503, 503, THROTTLED],
  [501, 501, permanent("RefusedByStore", "the store does not know this call")],
  [400, 499, permanent("RefusedByStore", "the store refused it")],
  [500, 599, BROKEN],
];

const UNREADABLE = transient("InvalidAnswer", "the answer cannot be read");

/** Codes of Node and OpenSSL. A certificate may be replaced while a run lasts, so that trying again may help. */
const BY_NETWORK_CODE: readonly (readonly [RegExp, Meaning])[] = [
  [/^(ETIMEDOUT|ESOCKETTIMEDOUT)$/, TIMED_OUT],
  [
    /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/,
    transient("TLSFailed", "the store's certificate or TLS was not accepted; see spec.s3.caSecretRef"),
  ],
  [/^HPE_/, UNREADABLE],
  [/^(E[A-Z0-9]+|EAI_[A-Z]+)$/, transient("Unreachable", "the store could not be reached")],
];

/** The code of an error in an answer: of S3, or `undefined` where the answer had no body. */
export function codeOfAnswer(error: unknown): string | undefined {
  if (!(error instanceof S3ServiceException)) return undefined;
  return isCode(error.name) && !/^(\d+|Unknown(Error)?)$/.test(error.name) ? error.name : undefined;
}

/** The HTTP status that a call was answered with, if it was. */
export function statusOf(error: unknown): number | undefined {
  const metadata = property(error, "$metadata");
  const status = property(metadata, "httpStatusCode");
  return typeof status === "number" ? status : undefined;
}

/**
 * Whether a call was answered with 405 because what it names is a delete marker (https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html). A 405 of
 * whatever stands before the store says no such thing.
 */
export function isMarkerAnswer(error: unknown): boolean {
  const headers = property(property(error, "$response"), "headers");
  return statusOf(error) === 405 && property(headers, "x-amz-delete-marker") === "true";
}

/**
 * Turns what the SDK rejects with into an error of the port. Neither its text nor the error itself is kept: they carry requests, answers and what a store
 * chose to say.
 * @param asked what was asked, e.g. `ListObjectVersions of bucket "b"`
 */
export function storeError(error: unknown, asked: string): StoreError {
  if (error instanceof StoreError) return error;
  const { reason, retryable, text } = meaningOf(error);
  const facts = [shortCode(error), statusText(error), regionOf(error)].filter((fact) => fact !== undefined);
  return new StoreError(reason, `${asked}: ${text}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`, {
    retryable,
  });
}

function meaningOf(error: unknown): Meaning {
  const name = property(error, "name");
  const byName = typeof name === "string" ? BY_NAME.get(name) : undefined;
  return byName ?? (error instanceof S3ServiceException ? byStatus(error) : byNetworkCode(error)) ?? UNREADABLE;
}

function byStatus(error: S3ServiceException): Meaning | undefined {
  const status = statusOf(error) ?? 0;
  return BY_STATUS.find(([least, most]) => status >= least && status <= most)?.[2];
}

function byNetworkCode(error: unknown): Meaning | undefined {
  const code = networkCode(error) ?? "";
  return BY_NETWORK_CODE.find(([pattern]) => pattern.test(code))?.[1];
}

function shortCode(error: unknown): string | undefined {
  if (error instanceof S3ServiceException) return codeOfAnswer(error);
  const name = property(error, "name");
  return networkCode(error) ?? (typeof name === "string" && BY_NAME.has(name) ? name : undefined);
}

/** A connection that was tried at several addresses fails with all of their errors; Node gives the whole the code of the first. */
function networkCode(error: unknown): string | undefined {
  const code = property(error, "code");
  return isCode(code) ? code : undefined;
}

function statusText(error: unknown): string | undefined {
  const status = statusOf(error);
  return status === undefined ? undefined : `HTTP ${status}`;
}

/** Where a redirect leads; S3 says so in a header. */
function regionOf(error: unknown): string | undefined {
  const headers = property(property(error, "$response"), "headers");
  const region = property(headers, "x-amz-bucket-region");
  return typeof region === "string" && /^[a-z0-9-]{1,40}$/.test(region) ? `region ${region}` : undefined;
}

function isCode(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z][A-Za-z0-9_.]{0,63}$/.test(value);
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
