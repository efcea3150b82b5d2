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

/** Where a route is: its host in lower case and its exact path. */
export interface Place {
  readonly host: string;
  readonly path: string;
}

/** What is to differ from now on. A place in `put` and `gone` is the first. */
export interface TableChange {
  /** Served at their places, instead of whatever was there. */
  readonly put: readonly RouteEntry[];
  /** Not served any more. */
  readonly gone: readonly RouteEntry[];
  /**
   * Places that have no route and had one until `since` (Unix ms), as far as others know. `Infinity`: there should be one, and it cannot be served; that
   * lasts until the place is named again.
   */
  readonly vanished?: readonly (Place & { readonly since: number })[];
}

const NONE: Match = { type: "none" };
const VANISHED: Match = { type: "vanished" };

/** Finds the route of a request by host and exact path. Lookups are two Map reads; a change costs what it changes, not what the table holds. */
export class MatchTable {
  readonly #ignoreHost: boolean;
  readonly #hosts = new Map<string, Map<string, Match & { readonly type: "route" }>>();
  /** By path alone; `undefined` where several routes share it. Made when it is first asked for after a change. */
  #paths: Map<string, Match | undefined> | undefined;
  /** Since when a host and path have no route, Unix ms. */
  readonly #vanished = new Map<string, number>();

  constructor(options: MatchTableOptions = {}) {
    this.#ignoreHost = options.ignoreHost ?? false;
  }

  get entries(): readonly RouteEntry[] {
    return [...this.#matches()].map(({ entry }) => entry);
  }

  /**
   * Serves these entries from now on and no others, and remembers those that are gone.
   *
   * @param now Unix ms
   */
  replace(entries: readonly RouteEntry[], now: number): void {
    const places = new Set(entries.map(placeOf));
    this.apply({ put: entries, gone: this.entries.filter((entry) => !places.has(placeOf(entry))) }, now);
  }

  /** @param now Unix ms */
  apply({ put, gone, vanished = [] }: TableChange, now: number): void {
    this.#paths = undefined;
    for (const place of gone) if (this.#remove(place)) this.#vanished.set(placeOf(place), now);
    for (const place of vanished) this.#vanished.set(placeOf(place), place.since);
    for (const entry of put) this.#put(entry);
    for (const [place, since] of this.#vanished) if (!isRecent(since, now)) this.#vanished.delete(place);
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
    const found = this.#at(name, path) ?? (this.#ignoreHost ? this.#byPath().get(path) : undefined);
    return found ?? (this.#hasVanished(name, path, now) ? VANISHED : NONE);
  }

  #at(host: string, path: string): Match | undefined {
    return this.#hosts.get(host)?.get(path);
  }

  #put(entry: RouteEntry): void {
    const paths = this.#hosts.get(entry.host) ?? new Map<string, Match & { readonly type: "route" }>();
    paths.set(entry.path, { type: "route", entry });
    this.#hosts.set(entry.host, paths);
    this.#vanished.delete(placeOf(entry));
  }

  #remove({ host, path }: Place): boolean {
    const paths = this.#hosts.get(host);
    const existed = paths?.delete(path) ?? false;
    if (paths?.size === 0) this.#hosts.delete(host);
    return existed;
  }

  *#matches(): Generator<Match & { readonly type: "route" }> {
    for (const paths of this.#hosts.values()) yield* paths.values();
  }

  #byPath(): ReadonlyMap<string, Match | undefined> {
    if (this.#paths !== undefined) return this.#paths;
    const byPath = new Map<string, Match | undefined>();
    for (const match of this.#matches()) {
      const { path } = match.entry;
      byPath.set(path, byPath.has(path) ? undefined : match);
    }
    this.#paths = byPath;
    return byPath;
  }

  #hasVanished(host: string, path: string, now: number): boolean {
    if (this.#vanished.size === 0) return false;
    if (isRecent(this.#vanished.get(`${host} ${path}`), now)) return true;
    return (
      this.#ignoreHost &&
      [...this.#vanished].some(([place, since]) => place.endsWith(` ${path}`) && isRecent(since, now))
    );
  }
}

function isRecent(since: number | undefined, now: number): boolean {
  return since !== undefined && now - since < VANISHED_FOR_MS;
}

/** A place as one text. */
export function placeOf({ host, path }: Place): string {
  return `${host} ${path}`;
}

/** Host name in lower case, without port and trailing dot. */
export function normaliseHost(host: string): string {
  const name = host.toLowerCase().replace(/:\d*$/, "");
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

/** A path that is in the normal form already, and nothing else: by far the most. */
const PLAIN = /^(?:\/[^/?#%.][^/?#%]*)+$/;

/**
 * The path of a request target in the normal form of RFC 3986 §6.2.2: percent-encoded unreserved characters and sub-delims decoded, dot
 * segments removed, no query. Slashes are left as they are.
 *
 * @returns `undefined` for what is no path (`*`, an authority)
 */
export function normalisePath(target: string): string | undefined {
  if (PLAIN.test(target)) return target;
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
