import type { TakenCopy } from "../custody/port.ts";
import { createSigner, type Signer } from "./signing.ts";
import type { WorkerDestination } from "./destinations.ts";

/** A destination's request as far as it is the same for every attempt. */
export interface OutgoingTarget {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Names and values in turn. */
  readonly staticHeaders: readonly string[];
  /** Lower case, without those that are never passed on. */
  readonly forwarded: readonly string[];
  readonly signer: Signer | undefined;
}

/** Belong to one connection (RFC 9110 §7.6.1) or are written by the client itself. */
const CONNECTION_HEADERS: readonly string[] = [
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** Written for each attempt: neither the route nor the sender decides them. */
const OWN_HEADERS: readonly string[] = [
  "davit-attempt",
  "davit-route",
  "davit-sequence",
  "idempotency-key",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
];
/** What a sender authenticates to us with is not for others. */
const SECRET_HEADERS: readonly string[] = ["authorization", "cookie", "set-cookie", "x-api-key", "x-gitlab-token"];

const NEVER_SET: ReadonlySet<string> = new Set([...CONNECTION_HEADERS, ...OWN_HEADERS]);
const NEVER_FORWARDED: ReadonlySet<string> = new Set([...NEVER_SET, ...SECRET_HEADERS]);
/** RFC 9110 §5.5 `field-content` in Latin-1. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Resolves URL, fixed headers and keys of a destination; once for each version of its config. */
export function outgoingTarget(destination: WorkerDestination, url: string): OutgoingTarget {
  const { entry } = destination;
  const { origin, pathname, search, username, password } = new URL(url);
  const staticHeaders = ["user-agent", "davit", "davit-route", `${destination.namespace}/${destination.routeName}`];
  const taken = new Set(["user-agent"]);
  for (const [name, value] of Object.entries(entry.headers)) {
    const lower = name.toLowerCase();
    if (NEVER_SET.has(lower) || !FIELD_VALUE.test(value)) continue;
    if (lower === "user-agent") staticHeaders.splice(0, 2);
    taken.add(lower);
    staticHeaders.push(lower, value);
  }
  if (username !== "" && !taken.has("authorization")) {
    staticHeaders.push("authorization", basicAuthorization(username, password));
  }
  const signatureHeader = entry.signing?.header.toLowerCase();
  const forwarded = ["content-type", ...entry.forwardHeaders.map((name) => name.toLowerCase())].filter(
    (name) => !NEVER_FORWARDED.has(name) && !taken.has(name) && name !== signatureHeader,
  );
  return {
    origin,
    path: pathname + search,
    staticHeaders,
    forwarded: [...new Set(forwarded)],
    signer: entry.signing && createSigner(entry.signing),
  };
}

/**
 * The headers of one attempt, names and values in turn: `webhook-id` and `Idempotency-Key` are the event id in every attempt and replay;
 * signature and `Davit-Attempt` are fresh.
 *
 * @param now Unix ms
 * @returns `undefined` when they must be signed and no key can be used: then nothing may be sent
 */
export function outgoingHeaders(target: OutgoingTarget, copy: TakenCopy, now: number): string[] | undefined {
  const headers = target.staticHeaders.slice();
  headers.push(
    "webhook-id",
    copy.eventId,
    "idempotency-key",
    copy.eventId,
    "davit-attempt",
    String(copy.attempt),
    "davit-sequence",
    String(copy.sequence),
  );
  for (const name of target.forwarded) {
    const value = Object.hasOwn(copy.headers, name) ? copy.headers[name] : undefined;
    // A value that cannot be sent must not make its event undeliverable.
    if (value !== undefined && FIELD_VALUE.test(value)) headers.push(name, value);
  }
  return target.signer?.(headers, copy.eventId, copy.body, now) === false ? undefined : headers;
}

function basicAuthorization(username: string, password: string): string {
  const credentials = `${percentDecoded(username)}:${percentDecoded(password)}`;
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}

/** As written where it is no percent-encoding: `URL` takes such credentials, and an exception here would make every event undeliverable. */
function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
