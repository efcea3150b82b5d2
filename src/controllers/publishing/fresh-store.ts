import { isNewer } from "../../kube/resource-version.ts";

/** What a {@link FreshStore} holds: anything with the version the API server gave it. */
export interface Versioned {
  readonly resourceVersion: string;
}

/**
 * The newest known state of some objects: what a watch showed, and what this process wrote and the watch has not shown yet. Without it a
 * reconcile right after a write would decide by the state before it.
 */
export class FreshStore<T extends Versioned> {
  readonly #items = new Map<string, T>();
  /** Versions of what this process deleted, until the watch shows the deletion. */
  readonly #deleted = new Map<string, string>();

  get(key: string): T | undefined {
    return this.#items.get(key);
  }

  entries(): IterableIterator<[string, T]> {
    return this.#items.entries();
  }

  values(): IterableIterator<T> {
    return this.#items.values();
  }

  get size(): number {
    return this.#items.size;
  }

  /** Takes over what a watch shows, or what a write or a read returned, unless a newer state is known. @returns whether it is news */
  put(key: string, item: T): boolean {
    const known = this.#items.get(key)?.resourceVersion ?? this.#deleted.get(key);
    if (known !== undefined && !isNewer(item.resourceVersion, known)) {
      // The same once more, as the watch has it: then one copy of it is enough.
      if (known === item.resourceVersion && this.#items.has(key)) this.#items.set(key, item);
      return false;
    }
    this.#deleted.delete(key);
    this.#items.set(key, item);
    return true;
  }

  /** The watch shows that the object is gone. `resourceVersion` is the last one it had, as far as the watch knows. */
  gone(key: string, resourceVersion: string): boolean {
    const known = this.#items.get(key);
    this.#deleted.delete(key);
    if (known === undefined || isNewer(known.resourceVersion, resourceVersion)) return false;
    return this.#items.delete(key);
  }

  /** This process deleted it, or read that it does not exist. */
  drop(key: string): void {
    const known = this.#items.get(key);
    if (known === undefined) return;
    this.#items.delete(key);
    this.#deleted.set(key, known.resourceVersion);
  }
}
