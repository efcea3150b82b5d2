import type { EventView } from "../../custody/port.ts";
import type { CustodyAccess } from "../custody-access.ts";

/** An event's copies that were named, in the namespace that has it. */
export interface NamedCopies {
  readonly namespace: string;
  readonly event: EventView;
  /** Ids of the destinations; empty when it has none of that name. */
  readonly destinations: readonly string[];
}

/**
 * Finds an event in the namespaces.
 * @param destination an id, or the name within the route; `undefined`: all it has
 */
export async function namedCopies(
  access: CustodyAccess,
  id: string,
  destination: string | undefined,
): Promise<NamedCopies | undefined> {
  for (const namespace of access.namespaces) {
    const event = await access.ledger(namespace).event(id);
    if (event === undefined) continue;
    const all = event.copies.map((copy) => copy.destination);
    const wanted = (one: string) => destination === undefined || [one, one.split("/").at(-1)].includes(destination);
    return { namespace, event, destinations: all.filter(wanted) };
  }
  return undefined;
}

/** Why nothing was done to the copies of an event. */
export function whyNothing(found: NamedCopies | undefined, destination: string | undefined, wanted: string): string {
  if (found === undefined) return "there is no such event";
  const { event, destinations } = found;
  if (destinations.length === 0) return `it has no destination ${destination}`;
  const states = event.copies.filter((copy) => destinations.includes(copy.destination)).map(({ state }) => state);
  return `it is ${[...new Set(states)].join(", ")}, not ${wanted}`;
}
