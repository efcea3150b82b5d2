import type { RouteEntry } from "../routes/entry.ts";
import { pointerTokens, valueAt } from "../lib/json-source.ts";
import type { RequestView } from "./request-view.ts";

/** `spec.payload` compiled. */
export interface PayloadRules {
  readonly json: boolean;
  readonly required: readonly { readonly name: string; readonly tokens: readonly string[] }[];
  readonly eventType:
    | { readonly from: "header"; readonly name: string }
    | { readonly from: "json"; readonly tokens: readonly string[] }
    | undefined;
}

/** @throws RangeError when `eventTypeFrom` is neither `header:NAME` nor `json:/POINTER` */
export function compilePayload(payload: RouteEntry["payload"]): PayloadRules {
  return {
    json: payload.format === "JSON",
    required: payload.requiredFields.map((name) => ({
      name,
      tokens: name.startsWith("/") ? pointerTokens(name) : [name],
    })),
    eventType: payload.eventTypeFrom === undefined ? undefined : compileEventType(payload.eventTypeFrom),
  };
}

function compileEventType(text: string): PayloadRules["eventType"] {
  if (text.startsWith("header:")) return { from: "header", name: text.slice(7).toLowerCase() };
  if (text.startsWith("json:")) return { from: "json", tokens: pointerTokens(text.slice(5)) };
  throw new RangeError(`payload.eventTypeFrom: "${text}" must begin with header: or json:`);
}

/**
 * Holds the body against the rules.
 *
 * @returns why it fails, with a line for the operator that names a field, never a value
 */
export function checkPayload(
  rules: PayloadRules,
  view: RequestView,
): { readonly reason: "PayloadNotJson" | "FieldMissing"; readonly detail: string } | undefined {
  if (!rules.json && rules.required.length === 0) return undefined;
  const parsed = view.json();
  if (!parsed.ok) return { reason: "PayloadNotJson", detail: "the body is not JSON in UTF-8" };
  const name = missingField(rules, parsed.value);
  return name === undefined ? undefined : { reason: "FieldMissing", detail: `field ${name} is missing` };
}

/** Name of the first required field that a body does not have; `undefined` when it has all. */
export function missingField({ required }: PayloadRules, body: unknown): string | undefined {
  return required.find(({ tokens }) => {
    const value = valueAt(body, tokens);
    return value === undefined || value === null;
  })?.name;
}

/** The event's type, at most 128 characters; `undefined` when the request does not say. */
export function eventTypeOf(rules: PayloadRules, view: RequestView): string | undefined {
  const value = rawEventType(rules, view);
  return typeof value === "string" && value !== "" && value.length <= 128 ? value : undefined;
}

function rawEventType({ eventType }: PayloadRules, view: RequestView): unknown {
  if (!eventType) return undefined;
  if (eventType.from === "header") {
    const values = view.header(eventType.name);
    return values.length === 1 ? values[0] : undefined;
  }
  const parsed = view.json();
  return parsed.ok ? valueAt(parsed.value, eventType.tokens) : undefined;
}
