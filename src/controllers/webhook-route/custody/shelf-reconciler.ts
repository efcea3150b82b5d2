import { routeKey } from "../../../api/names.ts";
import { NAMESPACES } from "../../../kube/core-types.ts";
import type { ReconcileResult } from "../../../runtime/reconcile.ts";
import type { Operator } from "../operator.ts";
import { type EntrySecret, namespaceOf, releasedIn } from "../publishing/publications.ts";

/** A namespace that the cache does not know and the API server does: looked at again after this long, ms. */
const CACHE_LAG_MS = 1_000;

/** A namespace's routes as far as its shelves are concerned. Keys of `routeKey`. */
export interface ShelfRound {
  readonly namespace: string;
  /** Complete. */
  readonly live: ReadonlySet<string>;
  /** Routes that are gone and still have a claim. */
  readonly deleted: readonly { readonly route: string; readonly name: string; readonly namespaceUid: string }[];
  /** Those of {@link deleted} whose events are to be removed at once (`deletionPolicy: Purge`). */
  readonly purge: ReadonlySet<string>;
}

/** Keeps what deleted routes leave behind. One round may be repeated at any time. */
export interface ShelfKeeper {
  /**
   * @returns ms after which another look makes sense; `undefined`: when a route changes
   * @throws when the store did not do all of it
   */
  keep(round: ShelfRound, signal: AbortSignal): Promise<number | undefined>;
  /** Removes the tickets of a route's own workers, which are gone. @param route its key */
  retireQueue(namespace: string, route: string): Promise<void>;
}

/** Puts the events of deleted routes on their shelf, and takes them up again when their route is back. */
export class ShelfReconciler {
  readonly #operator: Operator;
  readonly #keeper: ShelfKeeper;

  constructor(operator: Operator, keeper: ShelfKeeper) {
    this.#operator = operator;
    this.#keeper = keeper;
  }

  /** @param namespace key of this controller */
  async reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const live = await this.#live(namespace, signal);
    if (live === undefined) return { requeueAfterMs: CACHE_LAG_MS };
    const { publications, shelved, enqueue } = this.#operator;
    const deleted = new Map<string, ShelfRound["deleted"][number]>();
    const purge = new Set<string>();
    // One that is still served is not shelved: a gateway may be taking events for it.
    const left = publications
      .inNamespace(namespace)
      .filter((secret) => releasedIn(secret) !== undefined && isDeleted(this.#operator, secret));
    for (const secret of left) {
      const { name, deletionPolicy } = releasedIn(secret) ?? { name: "" };
      const { namespaceUid } = secret;
      const route = routeKey(namespaceUid, name);
      deleted.set(route, { route, name, namespaceUid });
      if (deletionPolicy === "Purge") purge.add(route);
    }
    const round = { namespace, live, deleted: [...deleted.values()], purge };
    const againInMs = await this.#keeper.keep(round, signal);
    for (const secret of left) {
      if (shelved === undefined || shelved.has(shelvedKey(secret))) continue;
      shelved.add(shelvedKey(secret));
      enqueue.route(secret.route);
    }
    return againInMs === undefined ? {} : { requeueAfterMs: againInMs };
  }

  /**
   * Keys of the namespace's routes; `undefined` while they are not known for certain. A namespace that the cache lacks has none only when the API server
   * says that it is gone: else every event of its routes would go on a shelf, and old ones for good.
   */
  async #live(namespace: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    const { routes, client } = this.#operator;
    const home = this.#operator.namespace(namespace);
    const keys = routes.ofNamespace(namespace);
    if (home !== undefined) return new Set(keys.map((key) => routeKey(home.metadata.uid, nameIn(key))));
    if (keys.length > 0) return undefined;
    const found = await client.resource(NAMESPACES).find({ name: namespace }, { signal });
    return found === undefined ? new Set() : undefined;
  }
}

/**
 * Whether a released claim has nothing more to say of its route's events. Until they are on their shelf, or purged, only the claim tells that their route
 * was deleted, and how.
 */
export function isShelved(operator: Pick<Operator, "routes" | "namespace" | "shelved">, secret: EntrySecret): boolean {
  return operator.shelved?.has(shelvedKey(secret)) !== false || !isDeleted(operator, secret);
}

/** A route of the same name in a namespace that was made anew is another one. */
function isDeleted({ routes, namespace }: Pick<Operator, "routes" | "namespace">, secret: EntrySecret): boolean {
  return routes.get(secret.route) === undefined || namespace(namespaceOf(secret))?.metadata.uid !== secret.namespaceUid;
}

function shelvedKey(secret: EntrySecret): string {
  return `${namespaceOf(secret)}/${secret.name} ${releasedIn(secret)?.releasedAt ?? 0}`;
}

function nameIn(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
