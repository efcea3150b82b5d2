import { destinationId, idOfDestination, inlineDestinationId } from "../api/names.ts";
import type { Directory, KnownRoute } from "./directory.ts";
import { invalid, Refused } from "./refusals.ts";

/** A destination of callers: `NAME` of the route's own, `~ID` of a WebhookDestination. What custody calls it names keys and encodes ids. */
const SHARED = "~";

/**
 * The route that a path or a filter names.
 * @throws Refused `NoSuchRoute`
 */
export function routeNamed(directory: Directory, namespace: string, name: string): KnownRoute {
  const route = directory.route(namespace, name);
  if (route === undefined) throw new Refused("NoSuchRoute");
  return route;
}

/**
 * Lets calls about a namespace as a whole pass when there is something in it.
 * @throws Refused `NoSuchNamespace`
 */
export function demandNamespace(directory: Directory, namespace: string): void {
  if (directory.routes(namespace).length > 0 || directory.destinations(namespace).length > 0) return;
  throw new Refused("NoSuchNamespace");
}

/**
 * What custody calls a destination of callers.
 * @param route its route, for a destination of a route's own
 * @param field for the message
 * @throws Refused `RequestInvalid`
 */
export function destinationNamed(name: string, route: Pick<KnownRoute, "route"> | undefined, field: string): string {
  if (!name.startsWith(SHARED)) {
    if (route !== undefined) return inlineDestinationId(route.route, name);
    throw invalid([{ field, message: "name its route too, or write ~ID for a WebhookDestination" }]);
  }
  const destination = destinationId(name.slice(SHARED.length));
  if (destination !== undefined) return destination;
  throw invalid([{ field, message: "is no id of a WebhookDestination: ~ and 1 to 128 characters" }]);
}

/** What callers call a destination of custody. */
export function destinationName(destination: string): string {
  const id = idOfDestination(destination);
  if (id !== undefined) return `${SHARED}${id}`;
  return destination.slice(destination.indexOf("/") + 1);
}

/** Names of a namespace's routes by their keys. `null`: a route that is gone. */
export function routeNames(directory: Directory, namespace: string): (route: string) => string | null {
  const names = new Map(directory.routes(namespace).map(({ route, name }) => [route, name]));
  return (route) => names.get(route) ?? null;
}
