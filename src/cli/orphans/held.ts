import type { OrphanedRoute, Shelves } from "../../custody/shelves.ts";
import { CommandError } from "../command.ts";
import type { LiveRoute } from "./live-routes.ts";

/** Events of a route that does not exist. */
export interface Held extends Omit<OrphanedRoute, "shelvedAt"> {
  readonly namespace: string;
  /** Unix ms; `undefined`: nobody has put them on a shelf, as after a restore with new UIDs. */
  readonly shelvedAt: number | undefined;
}

/** A namespace's custody, and which of its routes live. */
export interface Place {
  readonly namespace: string;
  readonly shelves: Shelves;
  /** `undefined`: not known. Then only what lies on a shelf is certainly nobody's. */
  readonly live: readonly LiveRoute[] | undefined;
}

/** All that no live route has, the longest on a shelf first. */
export async function heldIn({ namespace, shelves, live }: Place): Promise<readonly Held[]> {
  const orphans: Held[] = (await shelves.orphans()).map((orphan) => ({ ...orphan, namespace }));
  if (live === undefined) return orphans;
  const known = new Set([...orphans, ...live].map(({ route }) => route));
  const unclaimed = (await shelves.routes()).filter((route) => !known.has(route));
  const isLive = new Set(live.map(({ route }) => route));
  return [
    ...orphans.filter(({ route }) => !isLive.has(route)),
    ...unclaimed.map((route) => ({
      route,
      namespace,
      name: "",
      namespaceUid: "",
      shelvedAt: undefined,
      events: 0,
      deadLetters: 0,
      records: 0,
    })),
  ];
}

/**
 * What a KEY on the command line means.
 * @throws CommandError when there is none, or when a live route may have it
 */
export async function heldUnder(places: readonly Place[], key: string): Promise<{ place: Place; held: Held }> {
  for (const place of places) {
    const held = (await heldIn(place)).find(({ route }) => route === key);
    if (held !== undefined) return { place, held };
    const live = place.live?.find(({ route }) => route === key);
    if (live !== undefined) {
      throw new CommandError(
        `${key} is the key of ${live.namespace}/${live.name}, which exists: its events are delivered`,
      );
    }
  }
  const reason = places.some(({ live }) => live === undefined)
    ? "lies on no shelf; a live route may have it, and which do is not known with --no-cluster"
    : "has no events here";
  throw new CommandError(`${key} ${reason}; davit orphans lists what there is`);
}
