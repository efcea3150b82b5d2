import { destinationId, idOfDestination, inlineDestinationId } from "../../api/names.ts";
import type { DestinationStatistics } from "../../custody/statistics.ts";
import { CommandError, UsageError } from "../command.ts";
import { type CustodyAccess, routesNamed } from "../custody-access.ts";

/** A destination in its namespace. */
export interface Placed {
  readonly namespace: string;
  /** Its name in custody. */
  readonly destination: string;
}

/** One that was named, as the store knows it. */
export type Found = Placed & { readonly statistics: DestinationStatistics };

/**
 * The destination that a text names: the id of a WebhookDestination, also with the `~` it is listed with, or ROUTE/NAME.
 * @throws CommandError when there is none, UsageError when several namespaces have one
 */
export async function destinationOf(access: CustodyAccess, text: string): Promise<Found> {
  const found: Found[] = [];
  for (const place of placesOf(access, text)) {
    const statistics = (await access.statistics(place.namespace).of([place.destination])).get(place.destination);
    if (statistics !== undefined && (isListed(access, place) || isKnown(statistics)))
      found.push({ ...place, statistics });
  }
  const [one, ...others] = found;
  if (one === undefined) throw new CommandError(`there is no destination ${text}; davit destinations lists them`);
  if (others.length === 0) return one;
  const namespaces = found.map(({ namespace }) => namespace).join(", ");
  throw new UsageError(`${text} is in several namespaces (${namespaces}): add --namespace`);
}

/** Whether it has a gate: a destination of a route's own has none. */
export function isShared({ destination }: Placed): boolean {
  return destination.startsWith("~");
}

/** What it is called in messages. */
export function nameOf(access: CustodyAccess, { destination }: Placed): string {
  return isShared({ namespace: "", destination })
    ? (idOfDestination(destination) ?? destination)
    : access.destinationName(destination);
}

function placesOf(access: CustodyAccess, text: string): readonly Placed[] {
  const slash = text.lastIndexOf("/");
  if (!text.startsWith("~") && slash > 0) {
    return routesNamed(access, text.slice(0, slash)).map(({ namespace, route }) => ({
      namespace,
      destination: inlineDestinationId(route, text.slice(slash + 1)),
    }));
  }
  const encoded = text.startsWith("~") && idOfDestination(text) !== undefined ? text : undefined;
  const destination = encoded ?? destinationId(text.replace(/^~/, ""));
  if (destination === undefined) throw new UsageError(`"${text}" is no id of a WebhookDestination`);
  return access.namespaces.map((namespace) => ({ namespace, destination }));
}

function isListed(access: CustodyAccess, { namespace, destination }: Placed): boolean {
  return access.destinations.some((one) => one.namespace === namespace && one.destination === destination);
}

function isKnown({ gate, copies, hours, lastDeliveredAt }: DestinationStatistics): boolean {
  const count = Object.values(copies).reduce((sum, n) => sum + n, 0);
  return (
    count > 0 || hours.length > 0 || [gate.config, gate.changedAt, lastDeliveredAt].some((one) => one !== undefined)
  );
}
