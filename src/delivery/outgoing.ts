import type { TakenCopy } from "../custody/port.ts";
import { type Way, wayOf } from "../egress/pools.ts";
import type { DestinationEntry } from "../routes/entry.ts";
import { createSigner, type Signer } from "./signing.ts";
import type { WorkerDestination } from "./destinations.ts";

/** A destination's request as far as it is the same for every attempt. */
export interface OutgoingTarget {
  readonly origin: string;
  readonly way: Way;
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
/** What a sender authenticates to us with is not for others. The gateway keeps none of these, nor those its route's scheme names. */
const SECRET_HEADERS: readonly string[] = [
  "authorization",
  "cookie",
  "davit-signature",
  "set-cookie",
  "x-api-key",
  "x-gitlab-token",
];
/** Without them nobody can read the bytes, which are sent as they came. */
const ALWAYS_FORWARDED: readonly string[] = ["content-type", "content-encoding"];

const NEVER_SET: ReadonlySet<string> = new Set([...CONNECTION_HEADERS, ...OWN_HEADERS]);
const NEVER_FORWARDED: ReadonlySet<string> = new Set([...NEVER_SET, ...SECRET_HEADERS]);
/** RFC 9110 §5.1 `field-name`, a token. */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110 §5.5 `field-content` in Latin-1: no line end can be in it. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Resolves URL, way, fixed headers and keys of a destination; once for each version of its config. */
export function outgoingTarget(destination: WorkerDestination, url: string): OutgoingTarget {
  const { entry } = destination;
  const { origin, pathname, search, username, password } = new URL(url);
  const fixed = fixedHeaders(entry);
  if (!fixed.has("user-agent")) fixed.set("user-agent", "davit");
  if (username !== "" && !fixed.has("authorization")) {
    fixed.set("authorization", basicAuthorization(username, password));
  }
  const signatureHeader = entry.signing?.header.toLowerCase();
  const forwarded = [...ALWAYS_FORWARDED, ...entry.forwardHeaders.map((name) => name.toLowerCase())].filter(
    (name) => FIELD_NAME.test(name) && !NEVER_FORWARDED.has(name) && !fixed.has(name) && name !== signatureHeader,
  );
  return {
    origin,
    way: wayTo(entry),
    path: pathname + search,
    staticHeaders: [...fixed].flat().concat("davit-route", `${destination.namespace}/${destination.routeName}`),
    forwarded: [...new Set(forwarded)],
    signer: entry.signing && createSigner(entry.signing),
  };
}

/** Headers the route and its Secrets fix, lower-case names. One that cannot be sent is left out: it would make every event undeliverable. */
function fixedHeaders(entry: DestinationEntry): Map<string, string> {
  const fixed = new Map<string, string>();
  const fromSecrets = Object.entries(entry.headersFrom ?? {}).map(([name, value]) => [name, value.trim()] as const);
  for (const [name, value] of [...Object.entries(entry.headers), ...fromSecrets]) {
    const lower = name.toLowerCase();
    if (!NEVER_SET.has(lower) && FIELD_NAME.test(lower) && FIELD_VALUE.test(value)) fixed.set(lower, value);
  }
  return fixed;
}

/** A Service is in the cluster, where no egress proxy stands in between. */
function wayTo({ target, tls, proxy }: DestinationEntry): Way {
  const viaService = target.type === "http" && target.viaService === true;
  return viaService ? wayOf({ network: "Cluster", tls }) : wayOf({ network: "Public", tls, proxy });
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
