import type { IncomingHttpHeaders } from "node:http";
import { CLEANUP_RUN_HEADER, PROVIDER_ID_HEADER } from "../routes/delivery-id.ts";
import type { RouteEntry } from "../routes/entry.ts";

/** Name under which the canonical signature is kept with an event that a handler gets. Set by the gateway alone: a sender's header of this name is not kept. */
export const KEPT_SIGNATURE = "davit-signature";

/** Hop-by-hop fields (RFC 9110 §7.6.1), those that describe this message on this connection, and credentials. */
const NEVER = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "expect",
  "host",
  "authorization",
  "proxy-authorization",
  "proxy-authenticate",
  "cookie",
  // A sender must not say what the gateway has verified.
  KEPT_SIGNATURE,
  PROVIDER_ID_HEADER,
  CLEANUP_RUN_HEADER,
  // A header may be called so, and would change the object it is kept in.
  "__proto__",
]);

/** Which headers of a request are kept with its event. `all`: every one but the forbidden. */
export interface HeaderRules {
  readonly names: readonly string[] | "all";
  readonly forbidden: ReadonlySet<string>;
}

/**
 * What is kept: type and encoding of the content, what any destination forwards (`*` is everything), and the headers a preset shows. Signatures, tokens, credentials
 * and hop-by-hop fields never are, whatever a manifest says.
 */
export function compileKeptHeaders(
  entry: RouteEntry,
  shown: readonly string[],
  secretHeaders: readonly string[],
): HeaderRules {
  const forbidden = new Set([...NEVER, ...secretHeaders]);
  const forwarded = entry.destinations.flatMap((destination) => destination.forwardHeaders);
  if (forwarded.includes("*")) return { names: "all", forbidden };
  const names = new Set(["content-type", "content-encoding", ...shown, ...forwarded.map((name) => name.toLowerCase())]);
  return { names: [...names].filter((name) => !forbidden.has(name)), forbidden };
}

/**
 * Picks the headers to keep, lower-case names. A header named by `Connection` is hop-by-hop as well. One in which a proxy wrote the request's URL down (X-Original-URL,
 * Referer …) is left out if there is a query: it may be a token.
 *
 * @param path path and query as received
 */
export function keptHeaders(rules: HeaderRules, headers: IncomingHttpHeaders, path: string): Record<string, string> {
  const query = queryIn(path);
  const hopByHop = headers.connection?.toLowerCase() ?? "";
  const kept: Record<string, string> = {};
  for (const name of rules.names === "all" ? Object.keys(headers) : rules.names) {
    const text = textOf(headers, name);
    if (text === undefined || rules.forbidden.has(name)) continue;
    if (!namedIn(hopByHop, name) && !holds(text, query)) kept[name] = text;
  }
  return kept;
}

function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return typeof value === "object" ? value.join(", ") : value;
}

function holds(text: string, query: string | undefined): boolean {
  return query !== undefined && text.includes(query);
}

/** With its question mark; `undefined` when there is none. */
function queryIn(path: string): string | undefined {
  const at = path.indexOf("?");
  return at === -1 || at === path.length - 1 ? undefined : path.slice(at);
}

/**
 * Whether the id of a delivery is kept beside its headers, so that the event can be found by it: when its mark alone does not lead there (the id is unsigned or
 * has several parts), and no header that is kept holds it.
 */
export function keepsProviderId({ dedupe }: RouteEntry, rules: HeaderRules): boolean {
  const { sources } = dedupe;
  const main = sources.find(({ optional }) => optional !== true) ?? sources[0];
  if (main === undefined || (sources.length === 1 && main.signed)) return false;
  return main.from !== "header" || !isKept(rules, main.name.toLowerCase());
}

function isKept({ names, forbidden }: HeaderRules, name: string): boolean {
  return !forbidden.has(name) && (names === "all" || names.includes(name));
}

/** Whether a handler gets the events, whose payload has the signature. What is sent on to a URL never carries it. */
export function keepsSignature({ destinations }: RouteEntry): boolean {
  return destinations.some(({ target }) => target.type === "handler");
}

function namedIn(connection: string, name: string): boolean {
  return connection.includes(name) && connection.split(",").some((option) => option.trim() === name);
}
