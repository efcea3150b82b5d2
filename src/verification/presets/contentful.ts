import { escape } from "node:querystring";
import type { Content, SignedContent } from "../config.ts";
import { refuse, type Refusal } from "../refusal.ts";
import type { HeaderValues } from "../types.ts";
import type { Preset } from "./preset.ts";

const SIGNED_HEADERS = "x-contentful-signed-headers";
const TIMESTAMP = "x-contentful-timestamp";
/** Most headers that may be signed: each is looked up among all of the request's. */
const MAX_NAMES = 64;
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/**
 * Contentful's canonical request: method, path, headers and body, each in a line. Contentful's library escapes the query twice, so that `?x=1` is signed
 * as `?x%253D1`; its examples in other languages take the path as it is. Both count.
 */
const canonicalRequest: SignedContent = {
  contents: (request) => {
    const { method, url, body } = request;
    const headers = canonicalHeaders((name) => request.header(name));
    if (typeof headers !== "string") return headers;
    const path = pathOf(url);
    const paths = new Set([escapedPath(path), path]);
    return [...paths].map((one): Content => [Buffer.from(`${method}\n${one}\n${headers}\n`, "utf8"), body]);
  },
  description: "METHOD, path, signed headers and body, in lines",
};

/** Path and query as written. */
function pathOf(url: string): string {
  const path = /^[a-z]+:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1] ?? url;
  return path.startsWith("/") ? path : `/${path}`;
}

/** `getNormalizedEncodedURI` of https://github.com/contentful/node-apps-toolkit: what follows a second question mark is left out there as well. */
function escapedPath(path: string): string {
  const [pathname = "", search = ""] = path.split("?");
  return encodeURI(search === "" ? pathname : `${pathname}?${escape(search)}`);
}

/** `name:value;name:value` of the headers that the sender names, which must be the list itself and the timestamp at least. */
function canonicalHeaders(header: HeaderValues): string | Refusal {
  const lists = header(SIGNED_HEADERS);
  if (lists.length > 1) return refuse("SignatureMalformed", `header ${SIGNED_HEADERS} was sent ${lists.length} times`);
  if (!lists[0]) return refuse("HeaderMissing", `header ${SIGNED_HEADERS} is missing`);
  const names = lists[0].split(",", MAX_NAMES + 1).toSorted();
  const isList =
    names.length <= MAX_NAMES && names.every((name, index) => TOKEN.test(name) && name !== names[index + 1]);
  if (!isList || ![SIGNED_HEADERS, TIMESTAMP].every((name) => names.includes(name))) {
    return refuse("SignatureMalformed", `${SIGNED_HEADERS} is no list of header names with ${TIMESTAMP} among them`);
  }
  const pairs: string[] = [];
  for (const name of names) {
    const values = name === SIGNED_HEADERS ? [names.join(",")] : header(name);
    const [value] = values;
    if (values.length > 1) return refuse("SignatureMalformed", `header ${name} was sent ${values.length} times`);
    if (value === undefined) return refuse("HeaderMissing", `header ${name} is missing, and it is signed`);
    pairs.push(`${name}:${value.trim()}`);
  }
  return pairs.join(";");
}

/**
 * Contentful: HMAC-SHA256 over a canonical request, good for 30 seconds as in Contentful's library. `X-Contentful-Idempotency-Key` is the same for all
 * attempts and need not be signed.
 */
export const contentful: Preset = {
  name: "contentful",
  title: "Contentful",
  scheme: {
    type: "hmac",
    header: "x-contentful-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: canonicalRequest,
    timestamp: { header: TIMESTAMP, unit: "milliseconds" },
  },
  secrets: {
    signing: "shared",
    description: "the space's signing secret of 64 characters (Settings, Webhooks, Settings tab)",
  },
  toleranceMs: 30_000,
  dedupe: [{ from: "header", name: "x-contentful-idempotency-key", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 3_600_000,
  ackBudgetMs: 30_000,
  ack: { status: 202 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "header:x-contentful-topic" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [
    "x-contentful-topic",
    "x-contentful-idempotency-key",
    "x-contentful-webhook-name",
    "x-contentful-webhook-request-attempt",
  ],
  parameters: [],
  behaviour: {
    retries: "twice on 429 and 5xx, about 30 seconds apart, each time signed anew; never after a timeout",
    note: "the idempotency key need not be signed: it counts together with the body",
  },
  sample: {
    body: '{"sys":{"type":"Entry","id":"sample","version":1},"fields":{}}',
    headers: {
      "content-type": "application/vnd.contentful.management.v1+json",
      "x-contentful-idempotency-key": "$id",
      "x-contentful-topic": "ContentManagement.Entry.publish",
      [SIGNED_HEADERS]: `${SIGNED_HEADERS},${TIMESTAMP},x-contentful-topic`,
    },
  },
  documentation: "https://www.contentful.com/developers/docs/extensibility/app-framework/request-verification/",
};
