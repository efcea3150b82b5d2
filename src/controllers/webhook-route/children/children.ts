import type { KubeClient } from "../../../kube/client.ts";
import { isConflict } from "../../../kube/errors.ts";
import type { ChangeHandler } from "../../../kube/object-cache.ts";
import type { KubeObject, Live } from "../../../kube/objects.ts";
import type { ResourceType } from "../../../kube/resource-type.ts";
import type { Logger } from "../../../observability/logger.ts";
import type { ChildKind } from "./child-kinds.ts";
import { type DesiredObject, difference } from "./desired-object.ts";
import { isNewer } from "../../../kube/resource-version.ts";
import type { CacheState, KindCache } from "../watching/kind-cache.ts";

/** Field manager of everything that Davit applies. */
export const FIELD_MANAGER = "davit";

/** One kind of children and what is known of its objects. */
export interface ChildCache {
  readonly type: ResourceType;
  readonly cache: KindCache<KubeObject>;
  /** False while the API server does not serve the kind. */
  readonly isAvailable: () => boolean;
}

export interface ChildrenOptions {
  /** Its writes ask the fence of the leader. */
  readonly client: KubeClient;
  readonly caches: ReadonlyMap<ChildKind, ChildCache>;
  readonly logger: Logger;
}

/** A kind is not served by this API server. */
export class KindMissingError extends Error {
  readonly code = "KindMissing";
}

/** Objects that Davit made and can make again at any time: written by server-side apply, and only when the live one lacks something. */
export class Children {
  readonly #options: ChildrenOptions;
  /** What was applied and the watch has not shown yet. */
  readonly #applied = new Map<string, Live>();

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /** The newest known state of an object. */
  get(kind: ChildKind, namespace: string, name: string): Live | undefined {
    const cached = this.#cacheOf(kind).cache.get(namespace, name);
    const key = `${kind}/${namespace}/${name}`;
    const applied = this.#applied.get(key);
    if (applied === undefined) return cached;
    if (cached === undefined || isNewer(applied.metadata.resourceVersion, cached.metadata.resourceVersion))
      return applied;
    this.#applied.delete(key);
    return cached;
  }

  isAvailable(kind: ChildKind): boolean {
    return this.#cacheOf(kind).isAvailable();
  }

  /** Whether everything that is known of these kinds in a namespace is complete. `Refused`: a right is missing there. */
  state(namespace: string, kinds: Iterable<ChildKind>): CacheState {
    const states = [...kinds].map((kind) => this.#cacheOf(kind).cache.state(namespace));
    return states.find((state) => state === "Refused") ?? states.find((state) => state === "Syncing") ?? "Synced";
  }

  /** Watches a namespace, where there is no watch over all. */
  want(namespace: string): void {
    for (const { cache } of this.#options.caches.values()) cache.want(namespace);
  }

  /** Objects of all kinds in a namespace, or in all. */
  *list(namespace?: string): IterableIterator<{ readonly kind: ChildKind; readonly object: Live }> {
    for (const [kind, { cache }] of this.#options.caches) {
      const objects = namespace === undefined ? cache.all() : cache.inNamespace(namespace);
      for (const object of objects) yield { kind, object };
    }
  }

  /** Objects of one kind in a namespace whose name passes. */
  ofKind(kind: ChildKind, namespace: string, passes: (name: string) => boolean): Live[] {
    return this.#cacheOf(kind).cache.inNamespace(namespace, passes);
  }

  onChange(handler: (kind: ChildKind, change: Parameters<ChangeHandler<KubeObject>>[0]) => void): void {
    for (const [kind, { cache }] of this.#options.caches) {
      cache.onChange((change) => {
        // Deleted by somebody: what was applied is no longer there, whatever its version.
        if (change.next === undefined) this.#applied.delete(`${kind}/${change.key}`);
        handler(kind, change);
      });
    }
  }

  /**
   * Applies an object unless the live one has all of it.
   * @returns whether something was written
   * @throws KindMissingError; as every write
   */
  async ensure(desired: DesiredObject, signal?: AbortSignal): Promise<boolean> {
    const kind = desired.kind as ChildKind;
    const { namespace, name } = desired.metadata;
    const { type, isAvailable } = this.#cacheOf(kind);
    if (!isAvailable()) throw new KindMissingError(`the API server does not serve ${kind}`);
    const cached = this.get(kind, namespace, name);
    const differs = difference(cached, desired);
    if (differs === undefined) return false;
    let applied: Live | undefined;
    try {
      applied = await this.#apply(type, desired, { live: cached, signal });
    } catch (error) {
      if (!isConflict(error)) throw error;
      const live = await this.#options.client.resource(type).find({ namespace, name }, { signal });
      if (difference(live, desired) === undefined) return false;
      applied = await this.#apply(type, desired, { live, signal });
    }
    this.#applied.set(`${kind}/${namespace}/${name}`, applied);
    this.#options.logger.debug({ kind, namespace, name, field: differs }, "applied");
    return true;
  }

  /**
   * Only onto the version that was looked at: what a process that no longer leads has under way must not undo what its successor wrote. A live object whose
   * status changes all the time is looked at once more.
   */
  #apply(
    type: ResourceType,
    desired: DesiredObject,
    { live, signal }: { readonly live: Live | undefined; readonly signal: AbortSignal | undefined },
  ): Promise<Live> {
    const seen = live === undefined ? {} : { uid: live.metadata.uid, resourceVersion: live.metadata.resourceVersion };
    return this.#options.client
      .resource(type)
      .apply(desired, { fieldManager: FIELD_MANAGER, force: true, signal, ...seen });
  }

  /** Applies some fields of a live object under another field manager, for a hand-over. @param live the version that was looked at */
  async applyAs(fieldManager: string, object: KubeObject, live: Live, signal?: AbortSignal): Promise<void> {
    const kind = object.kind as ChildKind;
    const { type } = this.#cacheOf(kind);
    const { namespace = "", name, uid, resourceVersion } = live.metadata;
    const options = { fieldManager, force: true, uid, resourceVersion, signal };
    const applied = await this.#options.client.resource(type).apply(object, options);
    this.#applied.set(`${kind}/${namespace}/${name}`, applied);
  }

  /** Deletes this very object, if it is still there. */
  async remove(kind: ChildKind, { metadata }: Live, signal?: AbortSignal): Promise<void> {
    const { namespace, name, uid } = metadata;
    const { type } = this.#cacheOf(kind);
    await this.#options.client.resource(type).delete({ namespace, name }, { uid, signal });
    this.#applied.delete(`${kind}/${namespace ?? ""}/${name}`);
    this.#options.logger.info({ kind, namespace, name }, "deleted: no longer wanted");
  }

  #cacheOf(kind: ChildKind): ChildCache {
    const found = this.#options.caches.get(kind);
    if (found === undefined) throw new KindMissingError(`${kind} is no kind of a route's children`);
    return found;
  }
}
