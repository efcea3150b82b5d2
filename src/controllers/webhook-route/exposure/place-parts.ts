import { shortHash } from "../../../lib/hash.ts";

/** Host and path. */
export interface Place {
  readonly host: string;
  readonly path: string;
}

/** Some of the items, and which part it is, from 0. */
export interface Part<T> {
  readonly n: number;
  readonly items: readonly T[];
}

/** How many times more parts than needed there may be before hashes are given up. */
const MAX_WASTE = 16;

/**
 * Deals items out to parts of at most `limit`, by the hash of their key, so that a new item changes one part. The number of parts is a power of
 * two and grows only when a part is full. Keys chosen to fall into one part are dealt out in order instead. Empty parts are left out.
 *
 * @param keyOf differs for all items
 */
export function dealOut<T>(items: readonly T[], keyOf: (item: T) => string, limit: number): readonly Part<T>[] {
  const keyed = items
    .map((item) => ({ item, hash: Number.parseInt(shortHash(keyOf(item)).slice(0, 8), 16), key: keyOf(item) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const needed = Math.ceil(items.length / limit);
  for (let count = 1; count <= needed * MAX_WASTE; count *= 2) {
    const parts = groupBy(keyed, ({ hash }) => hash % count);
    if ([...parts.values()].every((part) => part.length <= limit)) return toParts(parts);
  }
  return toParts(groupBy(keyed, (_, index) => Math.floor(index / limit)));
}

function toParts<T>(parts: ReadonlyMap<number, readonly { readonly item: T }[]>): readonly Part<T>[] {
  return [...parts].map(([n, items]) => ({ n, items: items.map(({ item }) => item) })).toSorted((a, b) => a.n - b.n);
}

/** The places of routes, each once. */
export function distinctPlaces(routes: readonly Place[]): readonly Place[] {
  return [...new Map(routes.map(({ host, path }) => [`${host} ${path}`, { host, path }])).values()];
}

/** Items by group, in their order. */
export function groupBy<T, G>(
  items: readonly T[],
  groupOf: (item: T, index: number) => G,
): ReadonlyMap<G, readonly T[]> {
  const groups = new Map<G, T[]>();
  for (const [index, item] of items.entries()) {
    const group = groups.get(groupOf(item, index));
    if (group === undefined) groups.set(groupOf(item, index), [item]);
    else group.push(item);
  }
  return groups;
}
