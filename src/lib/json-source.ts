import { isUtf8 } from "node:buffer";

/** A parsed body. `ok: false`: no JSON, or not in UTF-8. */
export type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

/**
 * Parses a body as JSON (RFC 8259). Invalid UTF-8 is refused rather than repaired, since the repaired text is not what was signed. A byte
 * order mark is ignored, as §8.1 allows.
 */
export function parseJson(body: Buffer): Parsed {
  const text = textOf(body);
  if (text === undefined) return { ok: false };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

function textOf(body: Buffer): string | undefined {
  if (!isUtf8(body)) return undefined;
  const text = body.toString("utf8");
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/**
 * Splits a JSON pointer (RFC 6901) into its unescaped tokens.
 *
 * @throws RangeError if it does not begin with `/`
 */
export function pointerTokens(pointer: string): readonly string[] {
  if (!pointer.startsWith("/")) throw new RangeError(`"${pointer}" is not a JSON pointer: write it as /id or /data/id`);
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value at a pointer; `undefined` when there is none. Own properties only, so that `/constructor` finds nothing. */
export function valueAt(value: unknown, tokens: readonly string[]): unknown {
  let here = value;
  for (const token of tokens) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, token)) return undefined;
    here = Reflect.get(here, token);
  }
  return here;
}

/**
 * The value at a pointer as the text of an id: a string that is not empty, or a number. Numbers beyond 2^53 are read again digit by digit, else
 * neighbouring ids would become one event.
 *
 * @returns `undefined` for anything else
 */
export function idAt(parsed: unknown, tokens: readonly string[], body: Buffer): string | undefined {
  const value = valueAt(parsed, tokens);
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value !== "number") return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  const exact = valueAt(parseExact(textOf(body) ?? "null"), tokens);
  return typeof exact === "string" ? exact : String(value);
}

/** JSON with every number as its source text. */
function parseExact(text: string): unknown {
  return JSON.parse(text, numberSource) as unknown;
}

/** A reviver; its third argument is ECMAScript's JSON.parse source text access, which Node has had since version 21. */
function numberSource(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === "number" ? (context?.source ?? String(value)) : value;
}
