import type { IncomingMessage } from "node:http";
import { parseExact, parseJson, type Parsed } from "../lib/json-source.ts";
import type { SignedRequest } from "../verification/types.ts";

const NONE: readonly string[] = [];
const EMPTY = Buffer.alloc(0);

/**
 * A request as the verifier sees it. Headers are read from the raw list, because Node joins or drops repeated ones, and a signature header that was
 * sent twice must be seen as such.
 */
export class RequestView implements SignedRequest {
  readonly method: string;
  readonly path: string;
  body: Buffer = EMPTY;
  readonly #raw: readonly string[];
  readonly #publicUrl: string;
  #parsed: Parsed | undefined;
  #exact: { readonly value: unknown } | undefined;
  #form: URLSearchParams | undefined;

  constructor(request: Pick<IncomingMessage, "method" | "rawHeaders">, pathAndQuery: string, publicUrl: string) {
    this.method = request.method ?? "";
    this.path = pathAndQuery;
    this.#raw = request.rawHeaders;
    this.#publicUrl = publicUrl;
  }

  json(): Parsed {
    return (this.#parsed ??= parseJson(this.body));
  }

  /** The body as JSON if it is parsed already, or has no more bytes than that. */
  jsonWithin(bytes: number): Parsed | undefined {
    return this.#parsed ?? (this.body.length <= bytes ? this.json() : undefined);
  }

  /** The body as JSON with numbers as their source text, parsed at most once. Dear: for verified requests only. */
  exactJson(): unknown {
    return (this.#exact ??= { value: parseExact(this.body) }).value;
  }

  /** As {@link jsonWithin}, of a form. */
  formWithin(bytes: number): URLSearchParams | undefined {
    return this.#form ?? (this.body.length <= bytes ? this.form() : undefined);
  }

  /** The body as a form, parsed at most once; `undefined` when it is not sent as one. */
  form(): URLSearchParams | undefined {
    if (this.#form) return this.#form;
    const [type = "", ...others] = this.header("content-type");
    if (others.length > 0 || !/^application\/x-www-form-urlencoded *(;|$)/i.test(type)) return undefined;
    return (this.#form = new URLSearchParams(this.body.toString("utf8")));
  }

  /** The public URL of the route, with the query that was received when it has none of its own. */
  get url(): string {
    const query = this.path.indexOf("?");
    return query === -1 || this.#publicUrl.includes("?") ? this.#publicUrl : this.#publicUrl + this.path.slice(query);
  }

  header(name: string): readonly string[] {
    const raw = this.#raw;
    let first: string | undefined;
    let all: string[] | undefined;
    for (let at = 0; at < raw.length; at += 2) {
      if (!isNamed(raw[at] ?? "", name)) continue;
      const value = raw[at + 1] ?? "";
      if (first === undefined) first = value;
      else (all ??= [first]).push(value);
    }
    if (all) return all;
    return first === undefined ? NONE : [first];
  }

  /** Names in lower case, each once, at most 64. */
  headerNames(): string[] {
    const names = new Set<string>();
    for (let at = 0; at < this.#raw.length && names.size < 64; at += 2) names.add((this.#raw[at] ?? "").toLowerCase());
    return [...names];
  }
}

/** Bit that tells an ASCII letter's case. */
const CASE = 0x20;

/**
 * Most names of the right length begin differently: only the others are worth a copy in lower case.
 * @param name in lower case, as most senders write it
 */
function isNamed(candidate: string, name: string): boolean {
  if (candidate.length !== name.length) return false;
  if ((candidate.charCodeAt(0) | CASE) !== (name.charCodeAt(0) | CASE)) return false;
  return candidate === name || candidate.toLowerCase() === name;
}
