import { VerificationConfigError } from "./config.ts";

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
