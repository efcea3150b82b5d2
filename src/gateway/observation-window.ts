import { OBSERVATION_WINDOW_S, type RouteObservation } from "../routes/observations.ts";

const MINUTES = OBSERVATION_WINDOW_S / 60;
const MINUTE_MS = 60_000;
const COUNTED = ["requests", "verified", "refused", "slow"] as const;

/** What is counted of a route. */
export type Counted = (typeof COUNTED)[number];

/** What happened to a route in the last minutes, in buckets of one. Counting is an addition. */
export class ObservationWindow {
  /** The minute that each bucket is of. */
  readonly #minutes = new Float64Array(MINUTES).fill(-1);
  readonly #counts: Readonly<Record<Counted, Uint32Array>> = {
    requests: new Uint32Array(MINUTES),
    verified: new Uint32Array(MINUTES),
    refused: new Uint32Array(MINUTES),
    slow: new Uint32Array(MINUTES),
  };

  /** @param now ms, monotonic */
  add(what: Counted, now: number): void {
    const minute = Math.floor(now / MINUTE_MS);
    const at = minute % MINUTES;
    if (this.#minutes[at] !== minute) {
      this.#minutes[at] = minute;
      for (const counted of COUNTED) this.#counts[counted][at] = 0;
    }
    const counts = this.#counts[what];
    counts[at] = (counts[at] ?? 0) + 1;
  }

  /** Sums of the window that ends now. */
  sums(now: number): Readonly<Record<Counted, number>> {
    const minute = Math.floor(now / MINUTE_MS);
    const sums = { requests: 0, verified: 0, refused: 0, slow: 0 };
    for (const [at, of] of this.#minutes.entries()) {
      if (of <= minute - MINUTES || of < 0) continue;
      for (const counted of COUNTED) sums[counted] += this.#counts[counted][at] ?? 0;
    }
    return sums;
  }
}

/** The windows of all routes, by route key. They outlive an entry: an edit must not hide what went before it. */
export class ObservationWindows {
  readonly #byRoute = new Map<string, ObservationWindow>();

  of(route: string): ObservationWindow {
    let window = this.#byRoute.get(route);
    if (window === undefined) {
      window = new ObservationWindow();
      this.#byRoute.set(route, window);
    }
    return window;
  }

  forget(route: string): void {
    this.#byRoute.delete(route);
  }

  /** @param now ms, monotonic */
  all(now: number): readonly RouteObservation[] {
    return [...this.#byRoute].map(([key, window]) => ({ key, ...window.sums(now) }));
  }
}
