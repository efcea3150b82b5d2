import type { DedupeMark } from "../custody/port.ts";
import { sha256Head, sha256Parts } from "../lib/hash.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { DedupeSource } from "../verification/presets/preset.ts";
import type { Verdict } from "../verification/types.ts";
import { idAt, pointerTokens } from "../lib/json-source.ts";
import type { LazyJson } from "./payload.ts";
import type { RequestView } from "./request-view.ts";

/** `spec.dedupe` compiled: where each part of the id stands and what it is called in the mark. */
export interface DedupeRules {
  readonly route: string;
  readonly disabled: boolean;
  readonly parts: readonly DedupePart[];
  /** Some part is not covered by the signature: another body is then another event. */
  readonly withBody: boolean;
}

interface DedupePart {
  readonly label: string;
  readonly read: (request: Identified) => string | undefined;
}

/** A verified request. */
export interface Identified {
  readonly view: RequestView;
  readonly json: LazyJson;
  readonly verdict: Extract<Verdict, { ok: true }>;
}

/** A mark, no dedupe at all, or the part that is missing or was sent twice. */
export type Identity =
  | { readonly type: "mark"; readonly mark: DedupeMark }
  | { readonly type: "none" }
  | { readonly type: "missing"; readonly part: string };

const NO_IDENTITY: Identity = { type: "none" };

/**
 * Compiles the parts of a delivery's id.
 *
 * @param signedIdHeader the header whose value the verdict carries as `deliveryId`; its aliases then count as it
 */
export function compileDedupe(entry: RouteEntry, signedIdHeader: string | undefined): DedupeRules {
  const { sources, disabled } = entry.dedupe;
  return {
    route: entry.route,
    disabled,
    parts: sources.map((source) => compilePart(source, signedIdHeader)),
    withBody: sources.some((source) => !source.signed),
  };
}

function compilePart(source: DedupeSource, signedIdHeader: string | undefined): DedupePart {
  if (source.from === "json") {
    const tokens = pointerTokens(source.pointer);
    return { label: `json:${source.pointer}`, read: ({ json, view }) => jsonId(json, tokens, view.body) };
  }
  const name = source.name.toLowerCase();
  const label = `header:${name}`;
  if (name === signedIdHeader) return { label, read: ({ verdict }) => verdict.deliveryId };
  return { label, read: ({ view }) => onlyValue(view.header(name)) };
}

function jsonId(json: LazyJson, tokens: readonly string[], body: Buffer): string | undefined {
  const parsed = json.get();
  return parsed.ok ? idAt(parsed.value, tokens, body) : undefined;
}

function onlyValue(values: readonly string[]): string | undefined {
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}

/** What identifies the delivery: the parts, else signature and body, else nothing. */
export function identify(rules: DedupeRules, request: Identified): Identity {
  if (rules.parts.length === 0) return rules.disabled ? NO_IDENTITY : weakIdentity(rules, request);
  const parts: string[] = [rules.route];
  for (const { label, read } of rules.parts) {
    const value = read(request);
    if (value === undefined) return { type: "missing", part: label };
    parts.push(label, value);
  }
  const key = markKey(parts);
  if (!rules.withBody) return { type: "mark", mark: { key, weak: false } };
  const bodyHash = sha256Head(request.view.body, 8);
  return { type: "mark", mark: { key, weak: false, bodyHash } };
}

/** Without an id the signature stands for the delivery, in its canonical form: another case of the same hex is the same delivery. */
function weakIdentity(rules: DedupeRules, { view, verdict }: Identified): Identity {
  if (verdict.signature === undefined) return NO_IDENTITY;
  const key = sha256Parts([rules.route, "signature", verdict.signature, view.body]).subarray(0, 16);
  return { type: "mark", mark: { key, weak: true } };
}

/** The first 16 bytes of {@link sha256Parts}, put together for the one-shot hash, which takes half the time of updates. */
function markKey(parts: readonly string[]): Buffer {
  let size = 0;
  for (const part of parts) size += 4 + Buffer.byteLength(part);
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of parts) {
    const length = bytes.write(part, at + 4);
    bytes.writeUInt32BE(length, at);
    at += 4 + length;
  }
  return sha256Head(bytes, 16);
}
