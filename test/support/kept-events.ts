import type { Operations } from "../../src/custody/operations.ts";
import type { EventView } from "../../src/custody/port.ts";

/** All events of a route that are kept, newest first. */
export async function keptEvents(operations: Operations, route: string): Promise<readonly EventView[]> {
  const events: EventView[] = [];
  let cursor: string | undefined;
  do {
    // oxlint-disable-next-line no-await-in-loop -- each page begins where the last one ended
    const page = await operations.events({ route, limit: 500, ...(cursor !== undefined && { cursor }) });
    events.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return events;
}
