import type { RouteEntry } from "./entry.ts";

/** How long a vanished route is answered 503 rather than 404: some providers delete a subscription on a 404. */
export const VANISHED_FOR_MS = 15 * 60_000;

export type Match =
  | { readonly type: "route"; readonly entry: RouteEntry }
  /** There was a route until a short time ago. */
  | { readonly type: "vanished" }
  | { readonly type: "none" };

export interface MatchTableOptions {
  /** Match by path alone where only one route has it. For a laptop, where nobody sends the real host. */
  readonly ignoreHost?: boolean;
}

const NONE: Match = { type: "none" };
const VANISHED: Match = { type: "vanished" };

/** Finds the route of a request by host and exact path. Lookups are two Map reads. */
export class MatchTable {
  readonly #ignoreHost: boolean;
  #hosts = new Map<string, Map<string, Match>>();
  /** By path alone; `undefined` where several routes share it. */
  #paths = new Map<string, Match | undefined>();
  /** Unix ms at which a host and path vanished. */
  readonly #vanished = new Map<string, number>();
  #entries: readonly RouteEntry[] = [];

  constructor(options: MatchTableOptions = {}) {
    this.#ignoreHost = options.ignoreHost ?? false;
  }

  get entries(): readonly RouteEntry[] {
    return this.#entries;
  }

  /**
   * Serves these entries from now on, and remembers those that are gone.
   *
   * @param now Unix ms
   */
  replace(entries: readonly RouteEntry[], now: number): void {
    const places = new Set(entries.map(placeOf));
    for (const entry of this.#entries) if (!places.has(placeOf(entry))) this.#vanished.set(placeOf(entry), now);
    for (const [place, at] of this.#vanished) {
      if (places.has(place) || now - at >= VANISHED_FOR_MS) this.#vanished.delete(place);
    }
    this.#entries = entries;
    this.#hosts = new Map();
    this.#paths = new Map();
    for (const entry of entries) this.#add(entry);
  }

  /**
   * @param host the `Host` header as received, in any case, with or without a port
   * @param target the request target as received; its query is ignored
   * @param now Unix ms
   */
  match(host: string, target: string, now: number): Match {
    const path = normalisePath(target);
    if (path === undefined) return NONE;
    const name = normaliseHost(host);
    const found = this.#hosts.get(name)?.get(path) ?? (this.#ignoreHost ? this.#paths.get(path) : undefined);
    return found ?? (this.#hasVanished(name, path, now) ? VANISHED : NONE);
  }

  #add(entry: RouteEntry): void {
    const match: Match = { type: "route", entry };
    const paths = this.#hosts.get(entry.host) ?? new Map<string, Match>();
    paths.set(entry.path, match);
    this.#hosts.set(entry.host, paths);
    this.#paths.set(entry.path, this.#paths.has(entry.path) ? undefined : match);
  }

  #hasVanished(host: string, path: string, now: number): boolean {
    if (this.#vanished.size === 0) return false;
    const isRecent = (at: number | undefined): boolean => at !== undefined && now - at < VANISHED_FOR_MS;
    if (isRecent(this.#vanished.get(`${host} ${path}`))) return true;
    return this.#ignoreHost && [...this.#vanished].some(([place, at]) => place.endsWith(` ${path}`) && isRecent(at));
  }
}

function placeOf(entry: RouteEntry): string {
  return `${entry.host} ${entry.path}`;
}

/** Host name in lower case, without port and trailing dot. */
export function normaliseHost(host: string): string {
  const name = host.toLowerCase().replace(/:\d*$/, "");
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

/**
 * The path of a request target in the normal form of RFC 3986 §6.2.2: percent-encoded unreserved characters and sub-delims decoded, dot
 * segments removed, no query. Slashes are left as they are.
 *
 * @returns `undefined` for what is no path (`*`, an authority)
 */
export function normalisePath(target: string): string | undefined {
  const origin = /^https?:\/\/[^/?#]*/i.exec(target);
  const path = (origin === null ? target : target.slice(origin[0].length)).replace(/[?#].*$/s, "");
  if (path === "" && origin !== null) return "/";
  if (!path.startsWith("/")) return undefined;
  if (!path.includes("%") && !path.includes("/.")) return path;
  return removeDotSegments(path.replaceAll(/%[0-9A-Fa-f]{2}/g, decodePlain));
}

/** Decodes one percent-encoded octet if a route's path may hold it plainly; `/` stays encoded, it is no separator then. */
function decodePlain(encoded: string): string {
  const character = String.fromCodePoint(Number.parseInt(encoded.slice(1), 16));
  return /[A-Za-z0-9._~!$&()*+,;=:@-]/.test(character) ? character : encoded.toUpperCase();
}

/** RFC 3986 §5.2.4. */
function removeDotSegments(path: string): string {
  const segments = path.split("/").slice(1);
  const out: string[] = [];
  for (const [index, segment] of segments.entries()) {
    if (segment === "..") out.pop();
    else if (segment !== ".") out.push(segment);
    if (index === segments.length - 1 && (segment === "." || segment === "..")) out.push("");
  }
  return `/${out.join("/")}`;
}
