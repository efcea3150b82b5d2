import { keyOf, type KubeObject, type Live } from "./objects.ts";

/** What became of an object: `previous` absent = new, `next` absent = gone. Objects are shared: nobody may change them. */
export interface Change<T extends KubeObject> {
  readonly key: string;
  readonly next: Live<T> | undefined;
  readonly previous: Live<T> | undefined;
}

/** Hears of every change of a cache. What it throws is counted and otherwise without effect. */
export type ChangeHandler<T extends KubeObject> = (change: Change<T>) => void;

/** The objects of one kind by key, and whoever wants to hear of changes. */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, Live<T>>();
  readonly #handlers: ChangeHandler<T>[] = [];
  readonly #onHandlerError: (error: unknown) => void;

  constructor(onHandlerError: (error: unknown) => void) {
    this.#onHandlerError = onHandlerError;
  }

  get objects(): ReadonlyMap<string, Live<T>> {
    return this.#objects;
  }

  /** Adds a handler. It hears at once of every object that is here already. */
  onChange(handler: ChangeHandler<T>): void {
    this.#handlers.push(handler);
    for (const [key, next] of this.#objects) this.#tell(handler, { key, next, previous: undefined });
  }

  /** Makes the cache hold exactly these. @param isRestored equal versions do not mean equal objects: the server gave them out twice */
  replace(fresh: ReadonlyMap<string, Live<T>>, isRestored = false): void {
    for (const key of this.#objects.keys()) if (!fresh.has(key)) this.#remove(key);
    for (const object of fresh.values()) this.put(object, isRestored);
  }

  /** A version of an object. One deleted and made anew under its name in between (another uid) is told as gone, then new. */
  put(next: Live<T>, isRestored = false): void {
    const key = keyOf(next);
    const known = this.#objects.get(key);
    if (known?.metadata.uid === next.metadata.uid) {
      if (!isRestored && known.metadata.resourceVersion === next.metadata.resourceVersion) return;
      return this.#set(key, next, known);
    }
    if (known) this.#remove(key);
    this.#set(key, next, undefined);
  }

  /** An object that was deleted. That of an earlier bearer of its name changes nothing. */
  delete(object: Live<T>): void {
    const key = keyOf(object);
    if (this.#objects.get(key)?.metadata.uid === object.metadata.uid) this.#remove(key);
  }

  #set(key: string, next: Live<T>, previous: Live<T> | undefined): void {
    this.#objects.set(key, next);
    this.#tellAll({ key, next, previous });
  }

  #remove(key: string): void {
    const previous = this.#objects.get(key);
    this.#objects.delete(key);
    this.#tellAll({ key, next: undefined, previous });
  }

  #tellAll(change: Change<T>): void {
    for (const handler of this.#handlers) this.#tell(handler, change);
  }

  #tell(handler: ChangeHandler<T>, change: Change<T>): void {
    try {
      handler(change);
    } catch (error) {
      this.#onHandlerError(error);
    }
  }
}
