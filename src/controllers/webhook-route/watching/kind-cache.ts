import type { Change, ChangeHandler } from "../../../kube/object-cache.ts";
import type { KubeObject, Live } from "../../../kube/objects.ts";
import type { Refusal } from "../../../kube/reflector.ts";

/** A reflector, or something like it. */
export interface Source<T extends KubeObject> {
  readonly store: ReadonlyMap<string, Live<T>>;
  readonly hasSynced: boolean;
  readonly refusal: Refusal | undefined;
  /** ms of the monotonic clock. */
  readonly lastContact: number;
  onChange(handler: ChangeHandler<T>): void;
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when a list that began after this call is in, was refused, or will never be. */
  relist(): Promise<Refusal | undefined>;
}

/** `Refused`: the API server does not let us look (403), or does not know the kind (404). */
export type CacheState = "Syncing" | "Synced" | "Refused";

export interface KindCacheOptions<T extends KubeObject> {
  /** Makes the source of one namespace, or of all (`undefined`). */
  readonly open: (namespace: string | undefined) => Source<T>;
  /** One watch over all namespaces, or one in each that is {@link KindCache.want}ed. */
  readonly scope: "Cluster" | "Namespaces";
}

interface Open<T extends KubeObject> {
  readonly source: Source<T>;
  readonly stop: AbortController;
}

const EVERYWHERE = "";
/** Lists at a time: a leader's Lease goes over the same connections. */
const LISTS_AT_A_TIME = 8;

/** The objects of one kind, over one watch or one a namespace. */
export class KindCache<T extends KubeObject> {
  readonly #options: KindCacheOptions<T>;
  readonly #open = new Map<string, Open<T>>();
  readonly #handlers: ChangeHandler<T>[] = [];
  #signal: AbortSignal | undefined;

  constructor(options: KindCacheOptions<T>) {
    this.#options = options;
  }

  /** Hears of every change, also of the disappearance of a namespace's objects when it is no longer wanted. */
  onChange(handler: ChangeHandler<T>): void {
    this.#handlers.push(handler);
  }

  /** Begins to watch; ends when the signal fires. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    if (this.#options.scope === "Cluster") this.#watch(EVERYWHERE);
    else for (const namespace of this.#open.keys()) this.#watch(namespace);
  }

  /** Watches a namespace, if there is no watch over all. May be called again. */
  want(namespace: string): void {
    if (this.#options.scope === "Namespaces" && !this.#open.has(namespace)) this.#watch(namespace);
  }

  /** Watches a namespace no longer. */
  release(namespace: string): void {
    if (this.#options.scope === "Cluster") return;
    const open = this.#open.get(namespace);
    if (open === undefined) return;
    this.#open.delete(namespace);
    open.stop.abort();
    for (const [key, previous] of open.source.store) this.#tell({ key, next: undefined, previous });
  }

  /** Reads everything anew that is watched: a watch may be half-open. Resolves when all lists are in, or refused. */
  async relist(): Promise<void> {
    if (this.#signal === undefined) return;
    const left = [...this.#open.values()];
    const work = async () => {
      // oxlint-disable-next-line no-await-in-loop -- so many at a time
      for (let open = left.pop(); open !== undefined; open = left.pop()) await open.source.relist();
    };
    await Promise.all(Array.from({ length: LISTS_AT_A_TIME }, work));
  }

  get(namespace: string, name: string): Live<T> | undefined {
    return this.#sourceOf(namespace)?.store.get(`${namespace}/${name}`);
  }

  /** Objects of one namespace whose name passes. */
  inNamespace(namespace: string, passes: (name: string) => boolean = () => true): Live<T>[] {
    const objects = [...(this.#sourceOf(namespace)?.store.values() ?? [])];
    return objects.filter(({ metadata }) => metadata.namespace === namespace && passes(metadata.name));
  }

  *all(): IterableIterator<Live<T>> {
    for (const { source } of this.#open.values()) yield* source.store.values();
  }

  /** Whether what is known of a namespace is complete. */
  state(namespace: string): CacheState {
    const source = this.#sourceOf(namespace);
    if (source?.refusal !== undefined) return "Refused";
    return source?.hasSynced ? "Synced" : "Syncing";
  }

  /** Whether everything that is watched is complete, apart from what is refused. */
  get isSynced(): boolean {
    if (this.#options.scope === "Cluster" && !this.#open.has(EVERYWHERE)) return false;
    return [...this.#open.values()].every(({ source }) => source.hasSynced || source.refusal !== undefined);
  }

  /** When the API server last said anything over any watch of this kind, ms of the monotonic clock. */
  get oldestContact(): number {
    const contacts = [...this.#open.values()]
      .filter(({ source }) => source.refusal === undefined)
      .map(({ source }) => source.lastContact);
    return Math.min(Number.POSITIVE_INFINITY, ...contacts);
  }

  #sourceOf(namespace: string): Source<T> | undefined {
    return (this.#open.get(EVERYWHERE) ?? this.#open.get(namespace))?.source;
  }

  #watch(namespace: string): void {
    const known = this.#open.get(namespace);
    const open = known ?? { source: this.#options.open(namespace || undefined), stop: new AbortController() };
    if (known === undefined) {
      this.#open.set(namespace, open);
      open.source.onChange((change) => {
        // One that was stopped may still have a last line to say.
        if (this.#open.get(namespace) === open) this.#tell(change);
      });
    }
    if (this.#signal === undefined) return;
    void open.source.run(AbortSignal.any([this.#signal, open.stop.signal]));
  }

  #tell(change: Change<T>): void {
    for (const handler of this.#handlers) handler(change);
  }
}
