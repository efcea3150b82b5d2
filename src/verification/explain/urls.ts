import { finding } from "./finding.ts";
import type { PlainRequest, Variant } from "./variants.ts";

/** URLs that a sender may have signed instead: scheme, host, port, trailing slash, query and encoding in all combinations, fewest changes first. At most 300. */
export function urlVariants(request: PlainRequest): readonly Variant[] {
  const base = baseOf(request);
  if (base === undefined) return [];
  const seen = new Set([request.url]);
  const variants: { readonly url: string; readonly changes: number }[] = [];
  for (const [hostChanges, origin] of origins(base, request).entries()) {
    for (const [pathChanges, path] of paths(base).entries()) {
      for (const [queryChanges, query] of queries(base, request).entries()) {
        const url = origin + path + query;
        if (seen.has(url)) continue;
        seen.add(url);
        variants.push({ url, changes: hostChanges + pathChanges + queryChanges });
      }
    }
  }
  return variants.toSorted((a, b) => a.changes - b.changes).map(({ url }) => urlVariant(url));
}

/** Methods that a sender may have signed instead. */
export const METHOD_VARIANTS: readonly Variant[] = ["POST", "GET", "PUT", "post"].map((method) => ({
  finding: finding("MethodDiffers", { method }),
  change: ({ request, keys }) => (request.method === method ? undefined : { keys, request: { ...request, method } }),
}));

function urlVariant(url: string): Variant {
  return {
    finding: finding("UrlDiffers", { url: shown(url) }),
    change: ({ request, keys }) => ({ keys, request: { ...request, url, path: pathAndQuery(url) } }),
  };
}

interface Parts {
  readonly scheme: string;
  readonly host: string;
  readonly port: string;
  readonly path: string;
  readonly query: string;
}

/** Split by hand: a parser would normalise what was signed as it was written. */
function baseOf({ url, path }: PlainRequest): Parts | undefined {
  const match = /^(https?):\/\/([^/?#:]*|\[[^\]]*\])(?::(\d+))?([^?#]*)(\?[^#]*)?/i.exec(url);
  if (match === null) return undefined;
  const [, scheme = "", host = "", port = "", ownPath = "", query] = match;
  const at = path.indexOf("?");
  return { scheme: scheme.toLowerCase(), host, port, path: ownPath, query: query ?? (at === -1 ? "" : path.slice(at)) };
}

function origins({ scheme, host, port }: Parts, { headers }: PlainRequest): readonly string[] {
  const own = port === "" ? host : `${host}:${port}`;
  const hosts = [own, ...(headers["host"] ?? []), ...(headers["x-forwarded-host"] ?? [])];
  const schemes = scheme === "https" ? ["https", "http"] : ["http", "https"];
  const list = hosts.flatMap((name) =>
    schemes.flatMap((protocol) => ports(name, protocol).map((authority) => `${protocol}://${authority}`)),
  );
  return [...new Set(list)].slice(0, 12);
}

/** With the port as written, without, and with the default one written out. */
function ports(name: string, protocol: string): readonly string[] {
  const bare = name.replace(/:\d+$/, "");
  return [name, bare, `${bare}:${protocol === "https" ? 443 : 80}`];
}

function paths({ path }: Parts): readonly string[] {
  const toggled = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
  const forms = [path, toggled, attempt(decodeURIComponent, path), attempt(encodeURI, path), path.toLowerCase()];
  return [...new Set(forms)];
}

function queries({ query }: Parts, { path }: PlainRequest): readonly string[] {
  const at = path.indexOf("?");
  const received = at === -1 ? "" : path.slice(at);
  return [...new Set([query, received, "", attempt(decodeURIComponent, query), attempt(encodeURI, query)])];
}

function attempt(change: (text: string) => string, text: string): string {
  try {
    return change(text);
  } catch {
    return text;
  }
}

function pathAndQuery(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, "") || "/";
}

/** Without user, password and the values of a query: tokens stand there. */
function shown(url: string): string {
  return url.replace(/\/\/[^/?#]*@/, "//").replaceAll(/([?&][^=&#]*=)[^&#]+/g, "$1…");
}
