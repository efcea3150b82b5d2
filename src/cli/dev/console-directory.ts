import { hash } from "node:crypto";
import type { Directory, KnownDestination, KnownRoute } from "../../console/directory.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { hasLabels } from "../../routes/shared-copies.ts";
import type { DevDestination } from "./destinations.ts";

/** The console's directory over the manifests that `davit dev` serves. Replaced as a whole with every compilation; until the first it is not ready. */
export class DevConsoleDirectory implements Directory {
  #isReady = false;
  /** By namespace, then name. */
  #routes = new Map<string, Map<string, KnownRoute>>();
  /** By namespace, then `spec.id`. */
  #destinations = new Map<string, Map<string, KnownDestination>>();
  /** By SHA-256 of a token, hex. */
  #byToken = new Map<string, KnownDestination>();

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Takes over what is served from now on. */
  update(routes: readonly RouteEntry[], destinations: readonly DevDestination[]): void {
    const labels = new Map(destinations.map((one) => [`${one.namespace} ${one.entry.id}`, one.labels]));
    const known = routes.map((route) => knownRoute(route, (id) => labels.get(`${route.namespace} ${id}`)));
    this.#routes = grouped(known, ({ name }) => name);
    this.#destinations = grouped(destinations.map(knownDestination), ({ id }) => id);
    this.#byToken = tokensOf(destinations);
    this.#isReady = true;
  }

  route(namespace: string, name: string): KnownRoute | undefined {
    return this.#routes.get(namespace)?.get(name);
  }

  routes(namespace: string): readonly KnownRoute[] {
    return [...(this.#routes.get(namespace)?.values() ?? [])];
  }

  destination(namespace: string, id: string): KnownDestination | undefined {
    return this.#destinations.get(namespace)?.get(id);
  }

  destinations(namespace: string): readonly KnownDestination[] {
    return [...(this.#destinations.get(namespace)?.values() ?? [])];
  }

  byToken(token: string): KnownDestination | undefined {
    return this.#byToken.get(hash("sha256", token));
  }
}

/** A token that several destinations share opens none of them. */
function tokensOf(destinations: readonly DevDestination[]): Map<string, KnownDestination> {
  const byToken = new Map<string, KnownDestination>();
  const shared = new Set<string>();
  for (const destination of destinations) {
    for (const token of destination.tokenHashes) {
      if (byToken.has(token)) shared.add(token);
      byToken.set(token, knownDestination(destination));
    }
  }
  for (const token of shared) byToken.delete(token);
  return byToken;
}

/** @param labelsOf of a WebhookDestination of the route's namespace, if there is one */
function knownRoute(
  { namespace, name, route, destinationIdFrom, destinationLabels = {}, sharedCopies = [] }: RouteEntry,
  labelsOf: (destination: string) => DevDestination["labels"] | undefined,
): KnownRoute {
  const named = new Set(sharedCopies.map(({ id }) => id));
  const isChosen = (labels: DevDestination["labels"] | undefined) =>
    labels !== undefined && hasLabels(labels, destinationLabels);
  const mayReach = (destination: string) =>
    destinationIdFrom === undefined ? named.has(destination) : isChosen(labelsOf(destination));
  return { namespace, name, route, mayReach };
}

function knownDestination({ namespace, id, entry }: DevDestination): KnownDestination {
  return { namespace, name: entry.name, id, destination: entry.id, suspended: entry.suspended === true };
}

function grouped<T extends { readonly namespace: string }>(items: readonly T[], key: (item: T) => string) {
  const byNamespace = new Map<string, Map<string, T>>();
  for (const item of items) {
    const own = byNamespace.get(item.namespace) ?? new Map<string, T>();
    byNamespace.set(item.namespace, own.set(key(item), item));
  }
  return byNamespace;
}
