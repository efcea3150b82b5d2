import type { Acted, Count } from "../custody/operations.ts";
import type { Answer } from "./endpoint.ts";
import { cursorOf, type PageKind } from "./pages.ts";

/** What a call did to copies, as callers get it. @param kind of its cursor, when it may not have come to the end */
export function actedAnswer({ copies, active, next }: Acted, kind?: PageKind): Answer {
  const cursor = next === undefined || kind === undefined ? {} : { next: cursorOf(kind, next) };
  return { body: { copies, active, ...cursor }, audit: { copies, active, done: next === undefined } };
}

/** How many copies a call would take now; nothing was changed. */
export function previewAnswer({ count, atLeast }: Count): Answer {
  return { body: { preview: true, copies: count, atLeast }, changes: false };
}
