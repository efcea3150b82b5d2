import type { RouteEntry } from "../routes/entry.ts";

/** The entries that are served, by key and by name. */
export class ServedRoutes {
  readonly #prepare: (entry: RouteEntry) => void;
  readonly #forget: (entry: RouteEntry) => void;
  /** By route key. */
  #byKey = new Map<string, RouteEntry>();
  /** By `namespace/name`. */
  #byName = new Map<string, RouteEntry>();

  /**
   * @param prepare told of each entry that is served from now on
   * @param forget told of each route that is not any more
   */
  constructor(prepare: (entry: RouteEntry) => void, forget: (entry: RouteEntry) => void) {
    this.#prepare = prepare;
    this.#forget = forget;
  }

  /** These and no others. */
  update(entries: readonly RouteEntry[]): void {
    const next = new Map(entries.map((entry) => [entry.route, entry]));
    for (const [route, entry] of this.#byKey) if (!next.has(route)) this.#forget(entry);
    this.#byKey = next;
    this.#byName = new Map(entries.map((entry) => [nameOf(entry), entry]));
    for (const entry of entries) this.#prepare(entry);
  }

  /** What differs. A route in `put` and `gone` is the first. */
  change({ put, gone }: { readonly put: readonly RouteEntry[]; readonly gone: readonly RouteEntry[] }): void {
    const kept = new Set(put.map(({ route }) => route));
    for (const entry of gone) {
      if (kept.has(entry.route) || !this.#byKey.delete(entry.route)) continue;
      // In a namespace that was made anew its name may be another route's by now.
      if (this.#byName.get(nameOf(entry))?.route === entry.route) this.#byName.delete(nameOf(entry));
      this.#forget(entry);
    }
    for (const entry of put) {
      this.#byKey.set(entry.route, entry);
      this.#byName.set(nameOf(entry), entry);
      this.#prepare(entry);
    }
  }

  all(): Iterable<RouteEntry> {
    return this.#byKey.values();
  }

  named(namespace: string, name: string): RouteEntry | undefined {
    return this.#byName.get(`${namespace}/${name}`);
  }
}

function nameOf({ namespace, name }: RouteEntry): string {
  return `${namespace}/${name}`;
}
