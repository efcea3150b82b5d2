import type { DedupeMark } from "../custody/port.ts";
import { boundBody } from "./bound-body.ts";
import { sha256Head, sha256Parts } from "../lib/hash.ts";
import { idAt, pointerTokens } from "../lib/json-source.ts";
import { markKey, partLabel, providerIdHash } from "../routes/delivery-id.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { DedupeSource } from "../verification/presets/preset.ts";
import type { Verdict } from "../verification/types.ts";
import type { RequestView } from "./request-view.ts";

/** `spec.dedupe` compiled: where each part of the id stands and what it is called in the mark. */
export interface DedupeRules {
  readonly route: string;
  readonly disabled: boolean;
  readonly parts: readonly DedupePart[];
  /** Label of the first part that must be there. */
  readonly main: string | undefined;
  /** Some part is not covered by the signature, or the id is not one of an event: another body is then another event. */
  readonly withBody: boolean;
  /** Tokens of what is left out of the body where it counts. */
  readonly bodyExcept: readonly (readonly string[])[];
  /** What counts when there are no parts, or one is missing. */
  readonly withoutId: NonNullable<RouteEntry["dedupe"]["withoutId"]>;
}

/** A value; `undefined`: it is not there; `null`: there is something, and it is no value (sent twice, an object, several elements). */
type Read = string | undefined | null;

interface DedupePart {
  readonly label: string;
  readonly optional: boolean;
  readonly read: (request: Claimed) => Read;
}

/** A request, and its verdict once there is one. */
interface Claimed {
  readonly view: RequestView;
  readonly verdict?: Extract<Verdict, { ok: true }> | undefined;
}

/** A verified request. */
export type Identified = Claimed & { readonly verdict: Extract<Verdict, { ok: true }> };

/** A mark, no dedupe at all, or the part that is missing or was sent twice. `id`: the part that people know the delivery by, when there is one. */
export type Identity =
  | { readonly type: "mark"; readonly mark: DedupeMark; readonly id?: string }
  | { readonly type: "none" }
  | { readonly type: "missing"; readonly part: string };

/** A longer body of a request that was not verified is not parsed for the sake of its trace: an artful one of 256 KiB costs 50 ms. */
const CLAIMED_BYTES = 32_768;

const NO_IDENTITY: Identity = { type: "none" };

/**
 * Compiles the parts of a delivery's id.
 *
 * @param signedIdHeader the header whose value the verdict carries as `deliveryId`; its aliases then count as it
 */
export function compileDedupe(entry: RouteEntry, signedIdHeader: string | undefined): DedupeRules {
  const { sources, disabled } = entry.dedupe;
  const parts = sources.map((source) => compilePart(source, signedIdHeader));
  return {
    route: entry.route,
    disabled,
    parts,
    main: parts.find(({ optional }) => !optional)?.label,
    withBody: entry.dedupe.idWithBody === true || sources.some((source) => !source.signed),
    bodyExcept: (entry.dedupe.bodyExcept ?? []).map((pointer) => (pointer === "" ? [] : pointerTokens(pointer))),
    withoutId: entry.dedupe.withoutId ?? (sources.length > 0 ? "Refuse" : "Signature"),
  };
}

function compilePart(source: DedupeSource, signedIdHeader: string | undefined): DedupePart {
  const part = { label: partLabel(source), optional: source.optional === true };
  if (source.from === "json") {
    const tokens = pointerTokens(source.pointer);
    return { ...part, read: (request) => jsonValue(request, tokens) };
  }
  if (source.from === "form") return { ...part, read: (request) => formValue(request, source.name) };
  const name = source.name.toLowerCase();
  if (name !== signedIdHeader) return { ...part, read: ({ view }) => onlyValue(view.header(name)) };
  // Before the verdict the sender may have used the other of the two names (Standard Webhooks).
  const alias = name.replace(/^webhook-/, "svix-");
  return {
    ...part,
    read: ({ verdict, view }) =>
      verdict ? verdict.deliveryId : (onlyValue(view.header(name)) ?? onlyValue(view.header(alias))),
  };
}

function formValue({ view, verdict }: Claimed, name: string): Read {
  const form = verdict ? view.form() : view.formWithin(CLAIMED_BYTES);
  return onlyValue(form?.getAll(name) ?? []);
}

function onlyValue(values: readonly string[]): Read {
  return values.length > 1 ? null : values[0];
}

/**
 * A list on the way holds one element, or no value at all: several events have no id in common. Of a request that was not verified only strings and safe
 * integers are read: anybody can send one.
 */
function jsonValue({ view, verdict }: Claimed, tokens: readonly string[]): Read {
  const parsed = verdict ? view.json() : view.jsonWithin(CLAIMED_BYTES);
  return parsed?.ok ? textIn(parsed.value, tokens, verdict && (() => view.exactJson())) : undefined;
}

function textIn(root: unknown, tokens: readonly string[], exact: (() => unknown) | undefined): Read {
  const value = loneValueAt(root, tokens);
  if (value === undefined || value === null) return undefined;
  if (value === "") return "";
  return value === SEVERAL ? null : (idAt(root, tokens, exact) ?? null);
}

const SEVERAL = Symbol("several elements");

function loneValueAt(value: unknown, tokens: readonly string[]): unknown {
  let here = value;
  for (const token of tokens) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, token)) return undefined;
    if (Array.isArray(here) && here.length !== 1) return SEVERAL;
    here = Reflect.get(here, token);
  }
  return here;
}

/** What identifies the delivery: the parts of its id, else what stands in for them. */
export function identify(rules: DedupeRules, request: Identified): Identity {
  if (rules.disabled && rules.parts.length === 0) return NO_IDENTITY;
  const found = readParts(rules, request);
  if ("missing" in found) return standIn(rules, request, found.missing);
  const { parts, id } = found;
  const key = markKey(parts);
  if (!rules.withBody) return { type: "mark", mark: { key, weak: false }, id };
  return {
    type: "mark",
    mark: { key, weak: false, bodyHash: sha256Head(boundBody(request.view, rules.bodyExcept), 8) },
    id,
  };
}

/** Labels and values of the parts behind the route key, and the value that people know the delivery by. */
function readParts(
  { route, parts, main }: DedupeRules,
  request: Identified,
): { readonly parts: readonly string[]; readonly id: string } | { readonly missing: string } {
  const read: string[] = [route];
  for (const { label, optional, read: valueOf } of parts) {
    const value = valueOf(request);
    if (value === undefined && optional) continue;
    if (!isUsable(value, optional)) return { missing: label };
    read.push(label, value);
  }
  const id = main === undefined ? firstValue(read) : read[read.indexOf(main) + 1];
  return id === undefined ? { missing: parts[0]?.label ?? "" } : { parts: read, id };
}

function firstValue(read: readonly string[]): string | undefined {
  return read.find((value, at) => at > 0 && at % 2 === 0 && value !== "");
}

/** An empty part tells nothing apart, but one that may be missing does: it is there. */
function isUsable(value: Read, optional: boolean): value is string {
  return typeof value === "string" && (optional || value !== "");
}

function standIn(rules: DedupeRules, request: Identified, part: string): Identity {
  const { route, withoutId: mode } = rules;
  if (mode === "Refuse") return { type: "missing", part };
  if (mode === "None") return NO_IDENTITY;
  const body = boundBody(request.view, rules.bodyExcept);
  if (mode === "Body") return weakMark([route, "body", body]);
  // In its canonical form: another case of the same hex is the same delivery.
  const { signature } = request.verdict;
  return signature === undefined ? NO_IDENTITY : weakMark([route, "signature", signature, body]);
}

function weakMark(parts: readonly (string | Buffer)[]): Identity {
  return { type: "mark", mark: { key: sha256Parts(parts).subarray(0, 16), weak: true } };
}

/** The id as a request claims it that was not verified, hashed; `undefined` when there is none that is cheap to read. */
export function claimedIdHash(rules: DedupeRules, view: RequestView): string | undefined {
  const values = rules.parts.map(({ optional, read }) => ({ optional, value: read({ view }) ?? "" }));
  const found =
    values.find(({ optional, value }) => !optional && value !== "") ?? values.find(({ value }) => value !== "");
  return found && providerIdHash(found.value);
}
