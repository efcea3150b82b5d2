import { VerificationConfigError } from "./config.ts";
import type { TimestampUnit } from "./timestamp.ts";

/** One piece of the signed content, in order. Literals are latin1 text of their UTF-8 bytes, as header values are. */
export type Segment =
  | { readonly type: "literal"; readonly text: string }
  | { readonly type: "body" | "timestamp" | "id" | "method" | "url" | "path" }
  | { readonly type: "header"; readonly name: string };

const NAMED = ["body", "timestamp", "id", "method", "url", "path"] as const;

/**
 * Compiles a template such as `{timestamp}.{body}`.
 *
 * @throws VerificationConfigError `UnknownPlaceholder` for anything in braces that is not one of the placeholders
 */
export function compileTemplate(template: string): readonly Segment[] {
  const segments: Segment[] = [];
  for (const piece of template.split(/(\{[^{}]*\})/)) {
    if (piece === "") continue;
    segments.push(piece.startsWith("{") ? placeholder(piece) : literal(piece));
  }
  return segments;
}

function literal(text: string): Segment {
  return { type: "literal", text: latin1(text) };
}

function placeholder(piece: string): Segment {
  const name = piece.slice(1, -1);
  const named = NAMED.find((known) => known === name);
  if (named) return { type: named };
  const header = /^header:([!#$%&'*+.^_`|~0-9A-Za-z-]+)$/.exec(name)?.[1];
  if (header) return { type: "header", name: header.toLowerCase() };
  throw new VerificationConfigError(
    "UnknownPlaceholder",
    `signedContent: ${piece} is unknown; use {body}, {timestamp}, {id}, {method}, {url}, {path} or {header:NAME}`,
  );
}

/** Text as one character per UTF-8 byte, so that it can be joined with header values, which Node decodes as latin1. */
export function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Whether the content contains the segment. */
export function contains(segments: readonly Segment[], type: Segment["type"]): boolean {
  return segments.some((segment) => segment.type === type);
}

/**
 * Whether it is certain where a segment begins and ends. In `{id}{body}` it is not: ("ab", "c") and ("a", "bc") have one signature, so whoever saw one
 * delivery can move bytes from the body into the id. Text between two pieces, a fixed URL or method, or a timestamp of fixed form tells them apart.
 */
export function isDelimited(segments: readonly Segment[], index: number, unit: TimestampUnit | undefined): boolean {
  if (isFixed(segments[index], unit)) return true;
  return [segments[index - 1], segments[index + 1]].every((next) => next === undefined || isFixed(next, unit));
}

/** Letters and digits of an id, which no body of JSON begins with; and what else ids are written with, unless it stands beside the id in the signed content. */
const ID_CHARACTERS = "A-Za-z0-9_";
const MORE_ID_CHARACTERS = ["~", ":", "/", "+", "=", "@", "|", "."];

/**
 * What an id or a header in the signed content may look like, so that its end cannot be moved: `{id}.{body}` is one text for (`a`, `b.c`) and for
 * (`a.b`, `c`), and whoever saw the first could send the second. No character of the text beside it, and where there is none, nothing that JSON begins with.
 */
export function fieldForm(segments: readonly Segment[], index: number): RegExp {
  const neighbours = [segments[index - 1], segments[index + 1]].filter((next) => next !== undefined);
  const isBare = neighbours.some(({ type }) => type !== "literal");
  const beside = neighbours.map((next) => (next.type === "literal" ? next.text : "")).join("");
  if (segments[index]?.type === "id") {
    const more = isBare ? "" : MORE_ID_CHARACTERS.filter((one) => !beside.includes(one)).join("");
    return new RegExp(`^[${ID_CHARACTERS}${more}-]{1,256}$`);
  }
  const borders = beside
    .split("")
    .filter((one) => /[^A-Za-z0-9_-]/.test(one))
    .map((one) => `\\x${hex(one)}`);
  const refused = [...borders, ...(isBare ? ["{", "\\[", '"'] : [])].join("");
  return refused === "" ? /^/ : new RegExp(`^[^${refused}]*$`, "s");
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, "0");
}

/** Whether the timestamp touches a piece of free length, so that its own length must be the usual one. */
export function isTimestampBare(segments: readonly Segment[]): boolean {
  return segments.some(({ type }, index) => {
    const [before, after] = [segments[index - 1], segments[index + 1]];
    return type === "timestamp" && [before, after].some((next) => next !== undefined && next.type !== "literal");
  });
}

/** A timestamp is of fixed form as RFC 3339, and otherwise because {@link isTimestampBare} demands its usual length. */
function isFixed(segment: Segment | undefined, unit: TimestampUnit | undefined): boolean {
  if (segment === undefined) return false;
  if (segment.type === "timestamp") return unit !== undefined;
  return segment.type === "literal" || segment.type === "url" || segment.type === "method";
}
