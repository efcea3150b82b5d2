import type { EventView } from "../../custody/port.ts";
import type { Page } from "../../custody/operations.ts";

/** Asks of one route for one page; the store looks at some hundred events in each. */
const ASKS = 5;
/** Sequences of one millisecond, and of a second (`custody.md` §4). */
const PER_MS = 4_096;
const PER_SECOND = 1_000 * PER_MS;
/** Behind every route key. */
const LAST_ROUTE = "ffffffffffffffff";

/** A page of several routes' events. */
interface MergedPage {
  readonly items: readonly EventView[];
  /** Position of the next page; absent at the end. */
  readonly next?: string;
}

/** How one route's events are asked for: newest first, those with a smaller sequence than the cursor. */
export type AskRoute = (
  route: string,
  page: { readonly limit: number; readonly cursor?: string },
) => Promise<Page<EventView>>;

/**
 * A page of the events of several routes, newest first. Sequences are made of time, so that those of different routes can be put in one order; of equal ones
 * the smaller route key goes first. A position is `<sequence>:<route key>` of the last event, and good for whatever filter comes with it.
 *
 * @param routes keys
 */
export async function mergedPage(
  routes: readonly string[],
  { limit, position }: { readonly limit: number; readonly position: string | undefined },
  ask: AskRoute,
): Promise<MergedPage> {
  const from = readPosition(position);
  const found: EventView[] = [];
  // Below this some route's events are not known.
  let floor = -1;
  for (const route of routes) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: a caller takes one place at the store
    const part = await partOf(route, { limit: limit + 1, from }, ask);
    found.push(...part.items);
    floor = Math.max(floor, part.floor);
  }
  const edge = floor < 0 ? floor : coarse(floor, from.sequence);
  const complete = found.filter(({ sequence }) => sequence >= edge).toSorted(newestFirst);
  const items = complete.slice(0, limit);
  const last = items.at(-1);
  if (last !== undefined && complete.length > limit) return { items, next: `${last.sequence}:${last.route}` };
  return { items, ...(edge >= 0 && { next: `${edge}:${LAST_ROUTE}` }) };
}

interface Position {
  readonly sequence: number;
  readonly route: string;
}

function readPosition(text: string | undefined): Position {
  const [sequence = "", route = ""] = text?.split(":") ?? [];
  return text === undefined ? { sequence: Infinity, route: "" } : { sequence: Number(sequence), route };
}

/** The first events of one route behind a position; `floor`: where it was left, -1 at the end. */
async function partOf(
  route: string,
  { limit, from }: { readonly limit: number; readonly from: Position },
  ask: AskRoute,
): Promise<{ readonly items: readonly EventView[]; readonly floor: number }> {
  const items: EventView[] = [];
  const below = route > from.route ? from.sequence + 1 : from.sequence;
  let cursor = Number.isFinite(below) ? String(below) : undefined;
  for (let asked = 0; asked < ASKS && items.length < limit; asked++) {
    // oxlint-disable-next-line no-await-in-loop -- each begins where the last one ended
    const page = await ask(route, { limit: limit - items.length, ...(cursor !== undefined && { cursor }) });
    items.push(...page.items);
    if (page.next === undefined) return { items, floor: -1 };
    cursor = page.next;
  }
  return { items, floor: Number(cursor) };
}

/**
 * Where a page ended is a place among the events of others: told to the second only, so that a cursor says nothing of when they came. What lies between is looked
 * at again.
 */
function coarse(floor: number, from: number): number {
  const edge = Math.ceil(floor / PER_SECOND) * PER_SECOND;
  return edge < from ? edge : floor;
}

function newestFirst(a: EventView, b: EventView): number {
  return b.sequence - a.sequence || (a.route < b.route ? -1 : 1);
}
