import { valueAt } from "../../lib/json-source.ts";
import { refuse, type Refusal } from "../refusal.ts";
import type { SignedRequest } from "../types.ts";

/** All values of a parameter of the query, decoded as a form is (`+` is a blank). Text that is no valid UTF-8 has U+FFFD in it. Never throws. */
export function queryValues(request: Pick<SignedRequest, "path">, name: string): readonly string[] {
  const at = request.path.indexOf("?");
  return at === -1 ? [] : new URLSearchParams(request.path.slice(at + 1)).getAll(name);
}

/** A field of a JSON body; `undefined` when there is none. A list has no fields. */
export function bodyField(request: SignedRequest, name: string): unknown {
  const parsed = request.json();
  return parsed.ok ? valueAt(parsed.value, [name]) : undefined;
}

/** Whether the body is a JSON object with a field of this name. */
export function hasField(request: SignedRequest, name: string): boolean {
  return bodyField(request, name) !== undefined;
}

/** Whether a header has exactly this value, in whatever case. */
export function headerIs(request: SignedRequest, name: string, value: string): boolean {
  const values = request.header(name);
  return values.length === 1 && values[0]?.toLowerCase() === value;
}

/**
 * The one value that a request says, if it has the form.
 *
 * @param what names the place in the refusal, for example `query parameter crc_token`
 */
export function wellFormed(values: readonly unknown[], form: RegExp, what: string): string | Refusal {
  if (values.length > 1) return refuse("ChallengeMalformed", `${what} was sent ${values.length} times`);
  const value = values[0];
  if (typeof value === "string" && form.test(value)) return value;
  return refuse("ChallengeMalformed", `${what} is not of the form that the provider sends`);
}
