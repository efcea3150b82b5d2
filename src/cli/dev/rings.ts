import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Claim } from "../../routes/claims.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import type { DevDestination, DevDestinations } from "./destinations.ts";
import type { KnownRoute } from "./places.ts";

/** What must outlive the process: the previous keys of a rotation exist nowhere else. */
export interface Rings {
  /** Makes key ids that cannot be guessed from a value. */
  readonly releaseKey: Buffer;
  /** As published last, by `namespace/name`. */
  readonly entries: ReadonlyMap<string, RouteEntry>;
  /** WebhookDestinations as compiled last, by `namespace/name`: their ids, stamps and signing rings. */
  readonly destinations: DevDestinations;
  /** Routes that are gone, by `namespace/name`, whose events are not all on their shelf yet. */
  readonly removed: ReadonlyMap<string, RouteEntry>;
  /** Claims on places at which nothing is served: held for the namespace of the route that went. */
  readonly released: readonly Claim[];
  /** Every route of the manifests, by `namespace/name`. */
  readonly known: ReadonlyMap<string, KnownRoute>;
}

interface Stored {
  readonly releaseKey: string;
  readonly entries: readonly RouteEntry[];
  /** Absent in files of earlier versions, as what follows. */
  readonly destinations?: readonly DevDestination[];
  readonly removed?: readonly RouteEntry[];
  readonly released?: readonly Claim[];
  readonly known?: Readonly<Record<string, KnownRoute>>;
}

const FILE = "rings.json";

/** Reads `rings.json` of a data directory; a new one gets a release key of its own. */
export function readRings(dir: string): Rings {
  let stored: Stored = { releaseKey: randomBytes(32).toString("base64"), entries: [] };
  try {
    stored = JSON.parse(readFileSync(join(dir, FILE), "utf8")) as Stored;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
      throw new Error(`${join(dir, FILE)} cannot be read: delete it to start with new key rings`, { cause: error });
    }
  }
  return {
    releaseKey: Buffer.from(stored.releaseKey, "base64"),
    entries: byName(stored.entries),
    destinations: new Map(
      (stored.destinations ?? []).map((one) => [`${one.namespace}/${one.entry.name}`, one] as const),
    ),
    removed: byName(stored.removed ?? []),
    released: stored.released ?? [],
    known: new Map(Object.entries(stored.known ?? {})),
  };
}

/** Writes `rings.json` (0600), whole or not at all. */
export function writeRings(dir: string, rings: Rings): void {
  const { releaseKey, entries, destinations, removed, released, known } = rings;
  const stored: Stored = {
    releaseKey: releaseKey.toString("base64"),
    entries: [...entries.values()],
    destinations: [...destinations.values()],
    removed: [...removed.values()],
    released,
    known: Object.fromEntries(known),
  };
  const draft = join(dir, `${FILE}.new`);
  writeFileSync(draft, `${JSON.stringify(stored, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(draft, join(dir, FILE));
}

function byName(entries: readonly RouteEntry[]): ReadonlyMap<string, RouteEntry> {
  return new Map(entries.map((entry) => [`${entry.namespace}/${entry.name}`, entry]));
}
