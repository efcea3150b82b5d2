import { destinationId } from "../api/names.ts";
import { idAt, pointerTokens } from "../lib/json-source.ts";
import type { RequestView } from "./request-view.ts";

/** `destinationSelector.idFrom` compiled: where an event says which WebhookDestination it is for. */
export type ChosenRules = { readonly text: string } & (
  | { readonly from: "header"; readonly name: string }
  | { readonly from: "json"; readonly tokens: readonly string[] }
);

/** @throws RangeError when it is neither `header:NAME` nor `json:/POINTER` */
export function compileChosen(text: string | undefined): ChosenRules | undefined {
  if (text === undefined) return undefined;
  if (text.startsWith("header:")) return { text, from: "header", name: text.slice(7).toLowerCase() };
  if (text.startsWith("json:")) return { text, from: "json", tokens: pointerTokens(text.slice(5)) };
  throw new RangeError(`destinationIdFrom: "${text}" must begin with header: or json:`);
}

/**
 * The destination that a verified request names, `~<id>`, whether there is one of that id or not.
 *
 * @returns `undefined` when it names none, several, or none that could be: see `destinationId`
 */
export function chosenByRequest(rules: ChosenRules, view: RequestView): string | undefined {
  if (rules.from === "header") {
    const [only, ...others] = view.header(rules.name);
    return only === undefined || others.length > 0 ? undefined : destinationId(only);
  }
  const parsed = view.json();
  const id = parsed.ok ? idAt(parsed.value, rules.tokens, () => view.exactJson()) : undefined;
  return id === undefined ? undefined : destinationId(id);
}

/** The same of an event that is a JSON value and has no headers. */
export function chosenByValue(rules: ChosenRules, value: unknown): string | undefined {
  const id = rules.from === "json" ? idAt(value, rules.tokens) : undefined;
  return id === undefined ? undefined : destinationId(id);
}

/** What to tell whoever sent an event without. */
export function notChosenText({ text }: ChosenRules): string {
  return `${text} names no destination: it is missing, empty, sent twice, no text or number, or longer than 128 characters`;
}
