import { devUid } from "../../api/names.ts";
import { keepShelves, type ShelvesReport } from "../../custody/keep-shelves.ts";
import type { Shelves } from "../../custody/shelves.ts";
import type { RouteEntry } from "../../routes/entry.ts";

/** As long as a cluster keeps them by default, ms. */
const RETENTION_MS = 7 * 86_400_000;
const RETENTION_TEXT = "7 days";

/** Routes by `namespace/name`. */
type Entries = ReadonlyMap<string, RouteEntry>;

/** What a round did. */
export interface ShelfNews {
  /** Routes whose attempts still run: another round finds what becomes of them. */
  readonly active: ReadonlySet<string>;
  readonly byRoute: ReadonlyMap<string, string>;
  /** What a purge took that nobody asked for just now. */
  readonly lines: readonly string[];
}

/**
 * One round over the shelves of every namespace that has, or had, routes: what a cluster's controller does.
 * @throws CustodyError
 */
export async function keepDevShelves(input: {
  readonly instance: string;
  readonly entries: Entries;
  /** Gone from the manifests, and not in {@link entries}. */
  readonly removed: Entries;
  readonly namespaces: Iterable<string>;
  readonly shelvesOf: (namespace: string) => Shelves;
}): Promise<ShelfNews> {
  const { instance, entries, removed, shelvesOf } = input;
  const all = [...entries.values(), ...removed.values()].map(({ namespace }) => namespace);
  const active = new Set<string>();
  const byRoute = new Map<string, string>();
  const lines: string[] = [];
  for (const namespace of new Set([...all, ...input.namespaces])) {
    const namespaceUid = devUid(instance, "Namespace", "", namespace);
    const gone = [...removed].filter(([, entry]) => entry.namespace === namespace);
    const report = await keepShelves(shelvesOf(namespace), {
      live: new Set([...entries.values()].map(({ route }) => route)),
      deleted: gone.map(([, { route, name, destinations }]) => ({
        route,
        name,
        namespaceUid,
        destinations: destinations.map(({ id }) => id),
      })),
      retentionMs: RETENTION_MS,
      purgeNow: new Set(
        gone.filter(([, { deletionPolicy }]) => deletionPolicy === "Purge").map(([, one]) => one.route),
      ),
    });
    for (const [key, entry] of gone) {
      if (report.active.includes(entry.route)) active.add(key);
      byRoute.set(key, describe(entry, report));
    }
    lines.push(...expired(namespace, gone, report));
  }
  return { active, byRoute, lines };
}

/** What became of a removed route's events, as a clause. */
function describe({ route, deletionPolicy }: RouteEntry, { orphans, purged }: ShelvesReport): string {
  if (deletionPolicy === "Purge") {
    const records = purged.find((one) => one.route === route)?.records ?? 0;
    return `its events were removed, as its deletionPolicy asks: ${records}`;
  }
  const shelf = orphans.find((one) => one.route === route);
  if (shelf === undefined) return "nothing of it is left";
  const { events, deadLetters } = shelf;
  return `${events} waiting and ${deadLetters} dead ones are on its shelf for ${RETENTION_TEXT}: they go on when it is back`;
}

function expired(namespace: string, gone: readonly [string, RouteEntry][], { purged }: ShelvesReport): string[] {
  const asked = new Set(gone.map(([, { route }]) => route));
  return purged
    .filter(({ route }) => !asked.has(route))
    .map(
      ({ name, route, records }) =>
        `${namespace}/${name || route}: ${records} events were removed, ${RETENTION_TEXT} after their route`,
    );
}
