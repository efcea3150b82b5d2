import { hash } from "node:crypto";
import type { WebhookRoute } from "../../api/generated/webhook-route.ts";
import { idOfDestination, routeKey } from "../../api/names.ts";
import type { Directory, KnownDestination, KnownRoute } from "../../console/directory.ts";
import type { DestinationPublication } from "../../routes/destination-publication.ts";
import { hasLabels } from "../../routes/shared-copies.ts";

/** What of a route's spec says where its events go. */
export type RouteTargets = Pick<WebhookRoute["spec"], "destinations" | "destinationSelector">;

/** An object's place. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
}

type Labels = Readonly<Record<string, string>>;

/** Namespace → key → value. */
class Grouped<T> {
  readonly #groups = new Map<string, Map<string, T>>();

  set(namespace: string, key: string, value: T): void {
    const group = this.#groups.get(namespace) ?? new Map<string, T>();
    this.#groups.set(namespace, group.set(key, value));
  }

  delete(namespace: string, key: string): void {
    const group = this.#groups.get(namespace);
    group?.delete(key);
    if (group?.size === 0) this.#groups.delete(namespace);
  }

  get(namespace: string, key: string): T | undefined {
    return this.#groups.get(namespace)?.get(key);
  }

  in(namespace: string): readonly (readonly [key: string, value: T])[] {
    return [...(this.#groups.get(namespace) ?? [])];
  }
}

/** A publication, and the Secret that holds it. */
interface Held {
  readonly secret: string;
  readonly publication: DestinationPublication;
}

/** The directory of a cluster, put together from what the watches of four kinds tell. */
export class DirectoryIndex implements Omit<Directory, "isReady"> {
  readonly #uids = new Map<string, string>();
  readonly #routes = new Grouped<RouteTargets>();
  /** By name of the WebhookDestination. */
  readonly #labels = new Grouped<Labels>();
  /** By id. */
  readonly #published = new Grouped<Held>();
  /** By name of the Secret. */
  readonly #secrets = new Map<string, DestinationPublication>();
  /** SHA-256 of a token, hex → names of Secrets. */
  readonly #tokens = new Map<string, Set<string>>();

  /** @param uid `undefined`: the namespace is gone */
  putNamespace(name: string, uid: string | undefined): void {
    if (uid === undefined) this.#uids.delete(name);
    else this.#uids.set(name, uid);
  }

  /** @param targets `undefined`: the route is gone, or none of the release's */
  putRoute({ namespace, name }: Place, targets: RouteTargets | undefined): void {
    if (targets === undefined) this.#routes.delete(namespace, name);
    else this.#routes.set(namespace, name, targets);
  }

  /** @param labels of a WebhookDestination; `undefined`: it is gone */
  putLabels({ namespace, name }: Place, labels: Labels | undefined): void {
    if (labels === undefined) this.#labels.delete(namespace, name);
    else this.#labels.set(namespace, name, labels);
  }

  /**
   * @param publication `undefined`: the Secret is gone
   * @returns WebhookDestinations that share a token with this one, `namespace/name`
   */
  putPublication(secret: string, publication: DestinationPublication | undefined): readonly string[] {
    this.#forget(secret);
    if (publication === undefined) return [];
    this.#secrets.set(secret, publication);
    this.#published.set(publication.namespace, publication.id, { secret, publication });
    const sharing = new Set<string>();
    for (const token of publication.tokenHashes) {
      const holders = this.#tokens.get(token) ?? new Set<string>();
      for (const other of holders) sharing.add(this.#nameOf(other));
      this.#tokens.set(token, holders.add(secret));
    }
    return [...sharing];
  }

  route(namespace: string, name: string): KnownRoute | undefined {
    const uid = this.#uids.get(namespace);
    const targets = this.#routes.get(namespace, name);
    return uid === undefined || targets === undefined ? undefined : this.#known({ namespace, name }, uid, targets);
  }

  routes(namespace: string): readonly KnownRoute[] {
    const uid = this.#uids.get(namespace);
    if (uid === undefined) return [];
    return this.#routes.in(namespace).map(([name, targets]) => this.#known({ namespace, name }, uid, targets));
  }

  destination(namespace: string, id: string): KnownDestination | undefined {
    const held = this.#published.get(namespace, id);
    return held && knownDestination(held.publication);
  }

  destinations(namespace: string): readonly KnownDestination[] {
    return this.#published.in(namespace).map(([, { publication }]) => knownDestination(publication));
  }

  /** A token of several WebhookDestinations opens none of them: nothing says which one is meant. */
  byToken(token: string): KnownDestination | undefined {
    const [secret, ...others] = this.#tokens.get(hash("sha256", token)) ?? [];
    if (secret === undefined || others.length > 0) return undefined;
    const publication = this.#secrets.get(secret);
    return publication && knownDestination(publication);
  }

  #known({ namespace, name }: Place, uid: string, targets: RouteTargets): KnownRoute {
    const mayReach = (destination: string) => this.#mayReach(namespace, targets, destination);
    return { namespace, name, route: routeKey(uid, name), mayReach };
  }

  #mayReach(namespace: string, targets: RouteTargets, destination: string): boolean {
    const held = this.#published.get(namespace, idOfDestination(destination) ?? "");
    if (held === undefined) return false;
    const { name } = held.publication;
    const { destinations = [], destinationSelector: selector } = targets;
    // Also where events choose: they choose among those that are selected.
    if (selector !== undefined) return hasLabels(this.#labels.get(namespace, name) ?? {}, selector.matchLabels ?? {});
    return destinations.some(({ destinationRef }) => destinationRef?.name === name);
  }

  #forget(secret: string): void {
    const before = this.#secrets.get(secret);
    if (before === undefined) return;
    this.#secrets.delete(secret);
    const { namespace, id, tokenHashes } = before;
    // Another one may have the id by now.
    if (this.#published.get(namespace, id)?.secret === secret) this.#published.delete(namespace, id);
    for (const token of tokenHashes) {
      const holders = this.#tokens.get(token);
      holders?.delete(secret);
      if (holders?.size === 0) this.#tokens.delete(token);
    }
  }

  #nameOf(secret: string): string {
    const { namespace = "", name = "" } = this.#secrets.get(secret) ?? {};
    return `${namespace}/${name}`;
  }
}

function knownDestination({ namespace, name, id, destination, suspended }: DestinationPublication): KnownDestination {
  return { namespace, name, id, destination, suspended: suspended === true };
}
