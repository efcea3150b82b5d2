import type { Page } from "../custody/operations.ts";
import { invalid } from "./refusals.ts";

/** A page's items end after so many bytes of JSON. */
const PAGE_BYTES = 1_048_576;
/** Items that are asked for at a time: what they were made of is let go before the next ones. */
const CHUNK = 50;
/** Times that the store is asked for one page; it may find nothing that fits in one of them. */
const ASKS = 20;

/** What lists there are, and how their positions are written. */
const POSITIONS = {
  events: /^\d{1,16}$/,
  deadLetters: /^\d{1,16}:\d{1,16}:[0-9A-Z]{26}\|[^\p{Cc}\p{Cs}]{1,1600}$/u,
  deliveries: /^\d{1,16}:[0-9a-f]{16}$/,
  copies: /^\d{1,16}:[0-9a-f]{16}:\d{0,16}$/,
} as const;

/** Names a kind of list, so that a cursor of one is none of another. */
export type PageKind = keyof typeof POSITIONS;

/** A position of the store as callers get it. */
export function cursorOf(kind: PageKind, position: string): string {
  return Buffer.from(`${kind}:${position}`).toString("base64url");
}

/**
 * The position of the store that a cursor stands for.
 * @throws Refused `RequestInvalid`
 */
export function positionOf(kind: PageKind, cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, "base64url").toString();
  const position = text.slice(kind.length + 1);
  if (text.startsWith(`${kind}:`) && POSITIONS[kind].test(position)) return position;
  throw invalid([{ field: "cursor", message: "must be `next` of the page before; begin anew without it" }]);
}

/** A page for callers. */
export interface AnsweredPage {
  readonly items: readonly object[];
  /** Cursor of the next page; absent at the end. */
  readonly next?: string;
}

/**
 * Puts a page together that is bounded in items and in bytes.
 * @param ask a page of the store
 * @param toAnswer an item as callers get it
 */
export async function gather<T>(
  kind: PageKind,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  ask: (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<T>>,
  toAnswer: (item: T) => object,
): Promise<AnsweredPage> {
  const items: object[] = [];
  let bytes = 0;
  let position = positionOf(kind, cursor);
  for (let asked = 0; asked < ASKS; asked++) {
    const rest = Math.min(CHUNK, limit - items.length);
    // oxlint-disable-next-line no-await-in-loop -- each begins where the last one ended
    const page = await ask({ limit: rest, ...(position !== undefined && { cursor: position }) });
    for (const item of page.items.map(toAnswer)) {
      items.push(item);
      bytes += JSON.stringify(item).length;
    }
    position = page.next;
    if (position === undefined) return { items };
    if (items.length >= limit || bytes > PAGE_BYTES) break;
  }
  return { items, ...(position !== undefined && { next: cursorOf(kind, position) }) };
}
