import { errors } from "undici";

/** Codes that say what happened in words of their own library, and our own; all others are passed on. */
const STABLE: Readonly<Record<string, string>> = {
  EGRESS_FORBIDDEN: "AddressNotAllowed",
  proxy_refused: "proxy_refused",
  proxy_timeout: "proxy_timeout",
  UND_ERR_CONNECT_TIMEOUT: "connect_timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "timeout",
  UND_ERR_SOCKET: "ECONNRESET",
  UND_ERR_HEADERS_OVERFLOW: "headers_too_large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "bad_response",
  UND_ERR_RES_EXCEEDED_MAX_SIZE: "bad_response",
  UND_ERR_INVALID_ARG: "invalid_request",
  UND_ERR_NOT_SUPPORTED: "invalid_request",
  UND_ERR_DESTROYED: "closed",
  UND_ERR_CLOSED: "closed",
};

/**
 * A short code that stays the same over versions of undici and Node: `timeout`, `connect_timeout`, `ECONNREFUSED`, `ECONNRESET`, `ENOTFOUND`,
 * OpenSSL's and Node's TLS codes (`DEPTH_ZERO_SELF_SIGNED_CERT`, `ERR_TLS_CERT_ALTNAME_INVALID`, …), `bad_response`, `headers_too_large`,
 * `invalid_request`, `closed`, `AddressNotAllowed` (an `EgressForbiddenError`), `proxy_refused`, `proxy_timeout`, else `unknown`. Never a message: those carry hosts, and URLs with credentials.
 */
export function errorCode(error: unknown): string {
  if (error instanceof errors.HTTPParserError) return "bad_response";
  const code = codeOf(error);
  if (code === undefined) return "unknown";
  const stable = STABLE[code];
  if (stable !== undefined) return stable;
  return /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : "unknown";
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
