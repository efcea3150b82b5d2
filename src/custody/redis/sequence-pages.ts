import { CursorExpired, type SequencedEvent, type SequencePage, type SequenceQuery } from "../operations.ts";
import { CustodyError } from "../port.ts";
import type { LogWalker } from "./log-walker.ts";
import type { WalkedLog } from "./walks.ts";

/** A page with bodies ends after so many bytes. */
const PAGE_BYTES = 1_048_576;
/** Events that one script looks at. */
const BUDGET = 500;
/** Tries to read a page whose records retention removes meanwhile. */
const TRIES = 3;

/** Reads a record; `undefined` when there is none any more. */
type ReadRecord = (id: string, bodies: boolean) => Promise<SequencedEvent | undefined>;

/**
 * A page of list-events: see `Operations.eventsAfter`.
 * @throws CursorExpired
 */
export async function sequencePage(walker: LogWalker, read: ReadRecord, query: SequenceQuery): Promise<SequencePage> {
  const { route, destination, eventType, after, limit, bodies = false } = query;
  const filter = { ...(destination !== undefined && { destination }), ...(eventType !== undefined && { eventType }) };
  const position = after === undefined ? "" : String(after);
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const walked = await walker.walk("list", { route, filter, direction: "asc", position, budget: BUDGET, limit });
    refuseGap(after, walked);
    const page = await readPage(walked, (id) => read(id, bodies), after ?? 0);
    // One was removed since: so have been those before it, perhaps, and the cursor with them.
    if (page !== undefined) return page;
  }
  throw new CustodyError("Timeout", "retention removes events faster than they are listed");
}

function refuseGap(after: number | undefined, { gone, born }: WalkedLog): void {
  if (after === undefined) return;
  const isOfFormerLife = after > 0 && after < born;
  if (after < gone || isOfFormerLife) throw new CursorExpired(Math.max(gone, born));
}

async function readPage(
  walked: WalkedLog,
  read: (id: string) => Promise<SequencedEvent | undefined>,
  after: number,
): Promise<SequencePage | undefined> {
  const { found, more, unreadable } = walked;
  const items: SequencedEvent[] = [];
  let bytes = 0;
  for (const { id, sequence } of found) {
    const item = await read(id);
    if (item === undefined) return undefined;
    items.push(item);
    bytes += item.body?.length ?? 0;
    if (bytes > PAGE_BYTES && items.length < found.length) return { items, next: sequence, more: true, unreadable };
  }
  return { items, next: nextOf(walked, after), more, unreadable };
}

/** Where a consumer goes on: at the end of the log it has seen all that was given out. */
function nextOf({ more, position, last }: WalkedLog, after: number): number {
  return more ? Number(position) : Math.max(Number(position), last, after);
}
