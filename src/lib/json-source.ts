import { isUtf8 } from "node:buffer";

/** A parsed body. `ok: false`: no JSON, or not in UTF-8. */
export type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

/**
 * Parses a body as JSON (RFC 8259). Invalid UTF-8 is refused rather than repaired, since the repaired text is not what was signed. A byte
 * order mark is ignored, as §8.1 allows.
 */
export function parseJson(body: Buffer): Parsed {
  const text = textOf(body);
  return text === undefined ? { ok: false } : parseText(text);
}

/** Parses a text as JSON (RFC 8259), without a byte order mark. */
export function parseText(text: string): Parsed {
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
 * The value at a pointer as the text of an id: a string that is not empty, or a number. Of a number that a double may have rounded the source text counts, else
 * neighbouring ids would become one event.
 *
 * @param exact what {@link parseExact} makes of the body, asked only for such a number. Without it they are no ids: an unverified request is not worth the work.
 * @returns `undefined` for anything else
 */
export function idAt(parsed: unknown, tokens: readonly string[], exact?: () => unknown): string | undefined {
  const value = valueAt(parsed, tokens);
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value !== "number") return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  const source = exact && valueAt(exact(), tokens);
  return typeof source === "string" ? source : undefined;
}

/** The strings and numbers of a JSON text. A regular expression with alternatives that begin differently: it never goes back. */
const SCALARS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * A body with every number as the string of its source text; `undefined` when it is no JSON. Costs several times what {@link parseJson} does. Not by a reviver with
 * source text access: that one is slower still, and recursive, so that a deep body ends it with a RangeError.
 */
export function parseExact(body: Buffer): unknown {
  const quoted = textOf(body)?.replace(SCALARS, (scalar) => (scalar.startsWith('"') ? scalar : `"${scalar}"`));
  const parsed = quoted === undefined ? { ok: false as const } : parseText(quoted);
  return parsed.ok ? parsed.value : undefined;
}
