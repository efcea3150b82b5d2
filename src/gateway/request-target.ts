import type { IncomingMessage } from "node:http";

/** Where a request goes. `host` is lower case without port or trailing dot, `path` is without query. */
export interface RequestTarget {
  readonly host: string;
  readonly path: string;
  /** Path and query as received. */
  readonly pathAndQuery: string;
}

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i;

/**
 * Reads the request target (RFC 9112 §3.2). In absolute form its authority wins over `Host`. Paths are taken as they are: the table holds
 * normalised ones only, so `//`, `/./` or a needless `%61` match nothing.
 *
 * @returns `undefined` for `*` and anything else that names no path
 */
export function requestTarget(request: Pick<IncomingMessage, "url" | "headers">): RequestTarget | undefined {
  const url = request.url ?? "";
  if (url.startsWith("/")) return target(request.headers.host ?? "", url);
  const [, authority, rest = ""] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined || authority.includes("@")) return undefined;
  return target(authority, rest.startsWith("/") ? rest : `/${rest}`);
}

function target(authority: string, pathAndQuery: string): RequestTarget {
  const question = pathAndQuery.indexOf("?");
  const path = question === -1 ? pathAndQuery : pathAndQuery.slice(0, question);
  return { host: hostOf(authority), path, pathAndQuery };
}

/** `Hooks.Example.com.:8443` → `hooks.example.com`; `[::1]:80` → `[::1]`. */
export function hostOf(authority: string): string {
  const port = authority.lastIndexOf(":");
  const host = port > authority.lastIndexOf("]") ? authority.slice(0, port) : authority;
  return (host.endsWith(".") ? host.slice(0, -1) : host).toLowerCase();
}
