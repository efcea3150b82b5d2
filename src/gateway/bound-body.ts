import type { RequestView } from "./request-view.ts";

const NOTHING = Buffer.alloc(0);

/**
 * What of a body tells events apart, for a key that is bound to it: its bytes, or, where attempts of one event differ in a field (`dedupe.bodyExcept`), its JSON
 * without that field, written anew with every number as its source text.
 *
 * @param except tokens of each field; no tokens at all: the whole body
 */
export function boundBody(
  view: Pick<RequestView, "body" | "exactJson">,
  except: readonly (readonly string[])[],
): Buffer | string {
  if (except.length === 0) return view.body;
  if (except.some((tokens) => tokens.length === 0)) return NOTHING;
  const value = view.exactJson();
  if (value === undefined) return view.body;
  try {
    return JSON.stringify(except.reduce(without, value));
  } catch {
    // Writing is recursive, reading is not: a body so deep is nobody's, and its bytes tell it apart.
    return view.body;
  }
}

/** A copy without the field, of which only the objects on the way to it are new. Lists are not gone into. */
function without(value: unknown, tokens: readonly string[]): unknown {
  const [token, ...rest] = tokens;
  if (token === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const { [token]: field, ...others } = value as Readonly<Record<string, unknown>>;
  if (field === undefined) return value;
  return rest.length === 0 ? others : { ...others, [token]: without(field, rest) };
}
