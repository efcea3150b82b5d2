import { TokenBucket } from "../lib/token-bucket.ts";
import type { Live } from "./objects.ts";

/** The same event within this time continues a series, ms; client-go's. */
const SERIES_MS = 6 * 60_000;
/** A series is written at most this often, ms. */
const SERIES_WRITE_MS = 30_000;
/** Events about one object: so many at once, then one every five minutes, as client-go's spam filter. */
const BURST = 25;
const PER_MS = 1 / 300_000;
/** Objects and series remembered; the longest known are forgotten first. */
const MOST = 4_096;

/** Something that happened to an object. */
export interface Happening {
  readonly type: "Normal" | "Warning";
  /** CamelCase, from a closed set; at most 128 characters. */
  readonly reason: string;
  /** What was done about it, CamelCase; at most 128 characters. */
  readonly action: string;
  /** One sentence; cut at 1,000 bytes. No secret, no payload. */
  readonly note: string;
  readonly related?: Live & { readonly apiVersion?: string; readonly kind?: string };
}

/** One event and how often it happened. */
export interface EventSeries {
  readonly regarding: Live;
  readonly happening: Happening;
  /** Unix time, ms. */
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** Name of the Event object once it was created. */
  name: string | undefined;
  /** Unix time of the last write, ms. */
  writtenAt: number;
}

/** What to do with a happening. */
export interface Recorded {
  readonly series: EventSeries;
  /** Write it after this time, ms. */
  readonly inMs: number;
}

/** Joins equal events into series and drops those of objects that have too many. No IO; `now` is Unix time, ms. */
export class EventSeriesBook {
  readonly #series = new Map<string, EventSeries>();
  readonly #budgets = new Map<string, TokenBucket>();

  /** @returns `undefined` when it is dropped */
  note(regarding: Live, happening: Happening, now: number): Recorded | undefined {
    const { type, reason, action, note, related } = happening;
    const key = JSON.stringify([regarding.metadata.uid, type, reason, action, note, related?.metadata.uid]);
    const known = this.#series.get(key);
    if (known && now - known.lastAt < SERIES_MS) {
      known.count += 1;
      known.lastAt = now;
      return { series: known, inMs: Math.max(0, known.writtenAt + SERIES_WRITE_MS - now) };
    }
    if (this.#budget(regarding.metadata.uid, now).take(now) > 0) return undefined;
    const series: EventSeries = {
      regarding,
      happening,
      firstAt: now,
      lastAt: now,
      count: 1,
      name: undefined,
      writtenAt: now,
    };
    remember(this.#series, key, series);
    return { series, inMs: 0 };
  }

  #budget(uid: string, now: number): TokenBucket {
    const known = this.#budgets.get(uid);
    if (known) return known;
    const budget = new TokenBucket(BURST, PER_MS, now);
    remember(this.#budgets, uid, budget);
    return budget;
  }
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MOST) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
