import type { RouteEntry } from "../../routes/entry.ts";
import { type Place, placeOf, type TableChange } from "../../routes/match-table.ts";
import { type Publication, readPublication } from "../../routes/publication.ts";

/**
 * Why the newest publication of a Secret is not the one that is served. `Unusable`: it has the right shape and cannot be prepared. `PlaceTaken`: another
 * route has its host and path, which the controller does not let happen.
 */
export type RejectionCode = "Malformed" | "TooNew" | "Unusable" | "PlaceTaken";

/** A publication that is not served. What was served of its route before still is. */
export interface RejectedPublication {
  readonly code: RejectionCode;
  /** The publisher's stamp; 0 if it cannot be read. */
  readonly seq: number;
  readonly message: string;
}

/** A publication that can be served, and the text it was read from. */
interface Good {
  readonly data: string;
  readonly publication: Publication;
}

interface Rejected extends RejectedPublication {
  /** Where its senders are asked to come again, as long as nothing good was seen of it. */
  readonly place: Place | undefined;
  /** Tried again when its place is free. */
  readonly waiting: Good | undefined;
}

/** What is known of one Secret. */
interface Known {
  /** As last seen. */
  data: string;
  good: Good | undefined;
}

/**
 * What a gateway serves, from the Secrets that hold published routes. Pure: publications come in with `observe` and `remove` in any order, `take` says
 * what the match table has to change. A publication that cannot be used changes nothing but `rejected`.
 */
export class PublishedRoutes {
  readonly #usable: (entry: RouteEntry) => boolean;
  readonly #known = new Map<string, Known>();
  readonly #rejected = new Map<string, Rejected>();
  /** Name of the Secret whose route has a place. */
  readonly #holders = new Map<string, string>();
  readonly #incoming = new Map<string, string | undefined>();
  /** What the table was told, for the places that change. */
  readonly #before = new Map<string, RouteEntry | undefined>();
  readonly #vanished = new Map<string, Place & { readonly since: number }>();
  #seq = 0;

  /** @param usable whether an entry can be prepared */
  constructor(usable: (entry: RouteEntry) => boolean) {
    this.#usable = usable;
  }

  /** Highest stamp of all publications looked at, whatever came of them. */
  get seq(): number {
    return this.#seq;
  }

  /** By name of the Secret. */
  get rejected(): ReadonlyMap<string, RejectedPublication> {
    return this.#rejected;
  }

  /** Everything that is served. */
  get entries(): readonly RouteEntry[] {
    return [...this.#holders.values()].flatMap((name) => entryOf(this.#known.get(name)?.good) ?? []);
  }

  /** The publications in use, by name of the Secret: what a restart needs. Released places are among them. */
  *inUse(): Generator<readonly [name: string, data: string]> {
    for (const [name, { good }] of this.#known) if (good) yield [name, good.data];
  }

  /** @param data base64 of the publication's JSON, as in the Secret; empty when the Secret lacks it */
  observe(name: string, data: string): void {
    this.#incoming.set(name, data);
  }

  /** The Secret is gone. */
  remove(name: string): void {
    this.#incoming.set(name, undefined);
  }

  /** These are all Secrets there are. */
  retain(names: ReadonlySet<string>): void {
    for (const name of this.#known.keys()) if (!names.has(name)) this.remove(name);
  }

  /**
   * Takes in what was observed, older stamps first, so that of two routes at one place the older one is the incumbent.
   *
   * @param now Unix ms
   * @returns what the table must change
   */
  take(now: number): TableChange {
    const added: {
      readonly name: string;
      readonly data: string;
      readonly reading: ReturnType<typeof readPublication>;
    }[] = [];
    for (const [name, data] of this.#incoming) {
      if (data === undefined) this.#drop(name, now);
      else if (this.#known.get(name)?.data !== data) added.push({ name, data, reading: read(data) });
    }
    this.#incoming.clear();
    for (const { name, data, reading } of added.toSorted((a, b) => seqOf(a.reading) - seqOf(b.reading))) {
      this.#seq = Math.max(this.#seq, seqOf(reading));
      this.#forgetRejection(name, now);
      const known = this.#known.get(name) ?? { data, good: undefined };
      this.#known.set(name, known);
      known.data = data;
      if (reading.ok) this.#accept(name, { data, publication: reading.publication }, now);
      else this.#reject(name, { ...reading, seq: seqOf(reading), place: reading.place, waiting: undefined });
    }
    this.#promote(now);
    return this.#changes();
  }

  /** A rejection ends with the version it was about. */
  #forgetRejection(name: string, now: number): void {
    const place = this.#rejected.get(name)?.place;
    if (place && !entryOf(this.#known.get(name)?.good)) this.#markVanished(place, now);
    this.#rejected.delete(name);
  }

  #accept(name: string, good: Good, now: number): void {
    const { publication } = good;
    const known = this.#known.get(name);
    if (known === undefined) return;
    if ("released" in publication) {
      this.#leave(name, known, now);
      known.good = good;
      return this.#markVanished(publication.released, Math.min(now, publication.released.releasedAt));
    }
    const { entry, seq } = publication;
    const place = { host: entry.host, path: entry.path };
    const holder = this.#holders.get(placeOf(entry));
    if (holder !== undefined && holder !== name) {
      const message = `another route has ${entry.host}${entry.path}: it keeps the place`;
      return this.#reject(name, { code: "PlaceTaken", seq, message, place: undefined, waiting: good });
    }
    if (!this.#usable(entry)) {
      const message = "the published entry cannot be prepared: it is published again when its route changes";
      return this.#reject(name, { code: "Unusable", seq, message, place, waiting: undefined });
    }
    const before = entryOf(known.good);
    if (before && placeOf(before) !== placeOf(entry)) this.#leave(name, known, now);
    this.#touch(placeOf(entry), before);
    this.#holders.set(placeOf(entry), name);
    known.good = good;
  }

  #reject(name: string, rejected: Rejected): void {
    this.#rejected.set(name, rejected);
    // Nothing good was ever seen of it: its senders are asked to come again, and not told that there is nothing.
    if (rejected.place && !entryOf(this.#known.get(name)?.good)) this.#markVanished(rejected.place, Infinity);
  }

  #drop(name: string, now: number): void {
    const known = this.#known.get(name);
    if (known === undefined) return;
    this.#forgetRejection(name, now);
    this.#leave(name, known, now);
    this.#known.delete(name);
  }

  #leave(name: string, { good }: Known, now: number): void {
    const entry = entryOf(good);
    if (entry === undefined || this.#holders.get(placeOf(entry)) !== name) return;
    this.#touch(placeOf(entry), entry);
    this.#holders.delete(placeOf(entry));
    this.#markVanished(entry, now);
  }

  /** Routes whose place has become free. */
  #promote(now: number): void {
    const waiting = [...this.#rejected].flatMap(([name, { waiting: good }]) => (good ? [{ name, good }] : []));
    for (const { name, good } of waiting.toSorted((a, b) => a.good.publication.seq - b.good.publication.seq)) {
      const entry = entryOf(good);
      if (entry === undefined || this.#holders.has(placeOf(entry))) continue;
      this.#rejected.delete(name);
      this.#accept(name, good, now);
    }
  }

  #touch(place: string, entry: RouteEntry | undefined): void {
    if (!this.#before.has(place)) this.#before.set(place, entry && placeOf(entry) === place ? entry : undefined);
  }

  #markVanished({ host, path }: Place, since: number): void {
    this.#vanished.set(placeOf({ host, path }), { host, path, since });
  }

  #changes(): TableChange {
    const put: RouteEntry[] = [];
    const gone: RouteEntry[] = [];
    for (const [place, before] of this.#before) {
      const after = entryOf(this.#known.get(this.#holders.get(place) ?? "")?.good);
      if (after === before) continue;
      if (before) gone.push(before);
      if (after) put.push(after);
    }
    const vanished = [...this.#vanished.values()];
    this.#before.clear();
    this.#vanished.clear();
    return { put, gone, vanished };
  }
}

function entryOf(good: Good | undefined): RouteEntry | undefined {
  return good && "entry" in good.publication ? good.publication.entry : undefined;
}

function read(data: string): ReturnType<typeof readPublication> {
  return readPublication(Buffer.from(data, "base64").toString("utf8"));
}

function seqOf(reading: ReturnType<typeof readPublication>): number {
  return reading.ok ? reading.publication.seq : (reading.seq ?? 0);
}
