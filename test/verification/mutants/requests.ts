import type { Vector } from "../../support/vectors.ts";
import type { Mutation } from "./mutation.ts";

/** Another method. */
export function methodMutations({ method = "POST" }: Vector): readonly Mutation[] {
  return ["GET", "POST", "PUT", "PATCH", "DELETE"]
    .filter((other) => other !== method)
    .map((other) => ({ what: `method ${other}`, changes: { method: other } }));
}

/** Other clocks and tolerances: the borders, to the second. */
export function clockMutations({ now, toleranceSec }: Vector): readonly Mutation[] {
  if (now === undefined) return [];
  const tolerance = toleranceSec ?? 300;
  const moved = [1, -1, tolerance, -tolerance, tolerance + 1, -tolerance - 1, 86_400, -86_400, 10 * 365 * 86_400];
  return [
    ...moved.map((by) => ({ what: `clock by ${by} s`, changes: { now: now + by } })),
    ...(toleranceSec === undefined
      ? []
      : [1, 2, toleranceSec * 2].map((other) => ({
          what: `tolerance of ${other} s`,
          changes: { toleranceSec: other },
        }))),
    ...(toleranceSec === undefined
      ? []
      : [tolerance + 1, -tolerance - 1].map((by) => ({
          what: `clock by ${by} s and twice the tolerance`,
          changes: { now: now + by, toleranceSec: tolerance * 2 },
        }))),
  ];
}

/** Other URLs: what proxies do to one, and what somebody may send instead. */
export function urlMutations({ url }: Vector): readonly Mutation[] {
  if (url === undefined) return [];
  return urls(url)
    .filter(([, other]) => other !== url)
    .map(([what, other]) => ({ what: `URL: ${what}`, changes: { url: other } }));
}

function urls(url: string): readonly (readonly [string, string])[] {
  const { host, pathname, search } = new URL(url);
  const [head = "", query] = url.split("?", 2);
  const bare = host.replace(/:\d+$/, "");
  return [
    ["http", url.replace(/^https/, "http")],
    ["https", url.replace(/^http:/, "https:")],
    ["scheme in upper case", url.replace(/^https?/, (scheme) => scheme.toUpperCase())],
    ["another host", url.replace(bare, "internal.example")],
    ["host in upper case", url.replace(bare, bare.toUpperCase())],
    ["port 443", url.replace(host, `${bare}:443`)],
    ["port 80", url.replace(host, `${bare}:80`)],
    ["port 8443", url.replace(host, `${bare}:8443`)],
    ["without a port", url.replace(host, bare)],
    ["slash after", `${head}/${search}`],
    ["without its path", url.replace(pathname, "/")],
    ["path in upper case", url.replace(pathname, pathname.toUpperCase())],
    ["path with an escape", url.replace(pathname, pathname.replace(/[a-z]/, escape))],
    ["slash doubled", url.replace(pathname, `/${pathname}`)],
    ["a parameter more", `${url}${query === undefined ? "?" : "&"}davit=1`],
    ["a question mark more", `${url}?`],
    ["without its query", head],
    ...(query === undefined ? [] : queries(head, query)),
  ];
}

function escape(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
}

function queries(head: string, query: string): readonly (readonly [string, string])[] {
  const pairs = query.split("&");
  return [
    ["parameters in reverse", `${head}?${pairs.toReversed().join("&")}`],
    ["first parameter twice", `${head}?${query}&${pairs[0]}`],
    ["last parameter twice", `${head}?${query}&${pairs.at(-1)}`],
    ["last parameter empty, then as it was", `${head}?${pairs.at(-1)?.split("=")[0]}=&${query}`],
    ["without its last parameter", `${head}?${pairs.slice(0, -1).join("&")}`],
    ["unescaped", `${head}?${decode(query)}`],
    ["escaped again", `${head}?${query.replaceAll("%", "%25")}`],
    ["escapes in lower case", `${head}?${query.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase())}`],
    ["plus as %20", `${head}?${query.replaceAll("+", "%20")}`],
    ["apostrophe escaped", `${head}?${query.replaceAll("'", "%27")}`],
    ["a value in upper case", `${head}?${query.toUpperCase()}`],
  ];
}

function decode(query: string): string {
  try {
    return decodeURIComponent(query);
  } catch {
    return query;
  }
}
