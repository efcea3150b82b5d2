import { idAt, parseExact, pointerTokens } from "../../lib/json-source.ts";
import type { DedupeSource, WithoutId } from "../presets/preset.ts";
import type { SignedRequest } from "../types.ts";
import { finding, type Finding } from "./finding.ts";

const INSTEAD: Readonly<Record<WithoutId | "Refuse", string>> = {
  Signature: "an equal signature and body within the weak window is a duplicate",
  Body: "an equal body within the weak window is a duplicate",
  None: "each request is an event of its own",
  Refuse: "the request is refused with 400 (dedupe.keyFrom demands it)",
};

/** Where an event's id stands, and what counts when it has none. */
export interface DedupeOf {
  readonly sources: readonly DedupeSource[];
  readonly withoutId: WithoutId | "Refuse";
}

/** Which id the event would get, or why none. */
export function dedupeFinding(request: SignedRequest, { sources, withoutId }: DedupeOf): Finding {
  const instead = INSTEAD[withoutId];
  if (sources.length === 0) return finding("IdNone", { instead });
  const values = sources.map((source) => ({ source, value: idValue(request, source) }));
  const missing = values.find(({ source, value }) => value === undefined && !source.optional);
  const found = values.flatMap(({ value }) => (value === undefined ? [] : [value]));
  if (missing !== undefined || found.length === 0) {
    return finding("IdMissing", { part: sourceName(missing?.source ?? sources[0]), instead });
  }
  const parts = values.filter(({ value }) => value !== undefined).map(({ source }) => sourceName(source));
  return finding("IdTaken", { id: found.join(" · "), sources: parts.join(", ") });
}

/** `header:x-id`, `json:/id`, `form:field`, as `dedupe.keyFrom` writes it. */
export function sourceName(source: DedupeSource | undefined): string {
  if (source === undefined) return "";
  return source.from === "json" ? `json:${source.pointer}` : `${source.from}:${source.name}`;
}

function idValue(request: SignedRequest, source: DedupeSource): string | undefined {
  if (source.from === "header") return only(request.header(source.name.toLowerCase()));
  if (source.from === "form") return only(new URLSearchParams(request.body.toString("utf8")).getAll(source.name));
  const parsed = request.json();
  const tokens = pointerTokens(source.pointer);
  return parsed.ok && isLone(parsed.value, tokens)
    ? idAt(parsed.value, tokens, () => parseExact(request.body))
    : undefined;
}

function only(values: readonly string[]): string | undefined {
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}

/** Every list on the way holds exactly one element: several events have no id in common. */
function isLone(value: unknown, tokens: readonly string[]): boolean {
  let here = value;
  for (const token of tokens) {
    if (Array.isArray(here) && here.length !== 1) return false;
    here = typeof here === "object" && here !== null ? (Reflect.get(here, token) as unknown) : undefined;
  }
  return true;
}
