import { pointerTokens, valueAt } from "../../lib/json-source.ts";
import type { DedupeSource, Preset } from "../../verification/presets/preset.ts";

/** A message before it is signed. Header names are in lower case. */
export interface Unsigned {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Where a delivery's id is put: where the sample has its `$id`, and wherever a part that must be there would else be missing. Other parts (a state, a topic)
 * stay as the sample has them.
 */
export function idPlaces(sources: readonly DedupeSource[], sample: Preset["sample"]): readonly DedupeSource[] {
  const shown = { headers: sample.headers ?? {}, body: Buffer.from(unfilled(sample.body)) };
  const marked = sources.filter((source) => valueIn(shown, source)?.includes("$id") === true);
  const missing = sources.filter((source) => source.optional !== true && valueIn(shown, source) === undefined);
  return [...marked, ...missing];
}

/** Puts an id into all of these places: a header, a JSON pointer at any depth, a form's field. A body that is not of that form stays as it is. */
export function withId(message: Unsigned, places: readonly DedupeSource[], id: string): Unsigned {
  return places.reduce((so_far, place) => (valueIn(so_far, place) === id ? so_far : put(so_far, place, id)), message);
}

/** What stands at a place; `undefined` when there is nothing. */
function valueIn({ headers, body }: Unsigned, source: DedupeSource): string | undefined {
  if (source.from === "header") return headers[source.name.toLowerCase()];
  if (source.from === "form") return new URLSearchParams(body.toString()).get(source.name) ?? undefined;
  const value = valueAt(parse(body), pointerTokens(source.pointer));
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function put({ headers, body }: Unsigned, place: DedupeSource, id: string): Unsigned {
  if (place.from === "header") return { headers: { ...headers, [place.name.toLowerCase()]: id }, body };
  if (place.from === "form") return isForm(body) ? { headers, body: inForm(body, place.name, id) } : { headers, body };
  const parsed = parse(body);
  if (typeof parsed !== "object" || parsed === null) return { headers, body };
  return { headers, body: Buffer.from(JSON.stringify(setAt(parsed, pointerTokens(place.pointer), id))) };
}

/** A copy with the value at the pointer; objects are made on the way where there are none. */
function setAt(value: unknown, tokens: readonly string[], id: string): unknown {
  const [token, ...rest] = tokens;
  if (token === undefined) return id;
  if (Array.isArray(value) || (value === undefined && token === "0")) {
    const list = Array.isArray(value) ? (value as unknown[]) : [];
    const index = /^\d+$/.test(token) ? Number(token) : 0;
    return index > list.length ? list : list.toSpliced(index, 1, setAt(list[index], rest, id));
  }
  const fields = typeof value === "object" && value !== null ? value : {};
  return { ...fields, [token]: setAt(Reflect.get(fields, token), rest, id) };
}

function inForm(body: Buffer, name: string, id: string): Buffer {
  const form = new URLSearchParams(body.toString());
  form.set(name, id);
  return Buffer.from(form.toString());
}

function isForm(body: Buffer): boolean {
  return /^[^\s{[=&]+=[^\s]*$/.test(body.toString());
}

/** The sample with numbers where times will be: `"created":$now` is no JSON yet. */
function unfilled(text: string): string {
  return text.replaceAll(/\$now(Ms|Iso)?/g, "0");
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
