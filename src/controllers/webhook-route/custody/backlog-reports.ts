import type { Clock } from "../../../lib/clock.ts";
import { TokenBucket } from "../../../lib/token-bucket.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import { type BacklogLook, type BacklogStatus, BacklogTrack } from "./backlog-state.ts";
import type { Operator } from "../operator.ts";

/** Writes a second for the numbers of all routes together. */
const PER_SECOND = 10;
/** The numbers of one route change at most this often, ms. */
const INTERVAL_MS = 30_000;

type Named = Pick<RouteEntry, "namespace" | "name" | "route">;

interface Reported {
  readonly key: string;
  readonly track: BacklogTrack;
  released?: BacklogStatus;
  /** Monotonic ms. */
  releasedAt: number;
}

/**
 * Decides which numbers of backlogs are written into statuses, and when: they change all the time, and each write goes to every watcher. A route's
 * numbers are released one after the other, the longest due first; what is not released is not in its status, whatever it is written for. A route in which
 * nothing has ever waited has no numbers.
 */
export class BacklogReports {
  readonly #operator: Pick<Operator, "routes" | "enqueue">;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #bucket: TokenBucket;
  /** By key of the route in custody. */
  readonly #routes = new Map<string, Reported>();
  /** Routes whose status is not as it was last seen to be, the longest due first. */
  readonly #due = new Set<string>();

  constructor(operator: Pick<Operator, "routes" | "enqueue">, clock: Pick<Clock, "monotonic">) {
    this.#operator = operator;
    this.#clock = clock;
    this.#bucket = new TokenBucket(PER_SECOND, PER_SECOND / 1_000, clock.monotonic());
  }

  /** Takes in one look at a route. */
  note({ namespace, name, route }: Named, look: Omit<BacklogLook, "at">): void {
    const reported = this.#routes.get(route) ?? {
      key: `${namespace}/${name}`,
      track: new BacklogTrack(),
      releasedAt: Number.NEGATIVE_INFINITY,
    };
    this.#routes.set(route, reported);
    reported.track.note({ ...look, at: this.#clock.monotonic() });
    if (this.#next(reported) === undefined) this.#due.delete(route);
    else this.#due.add(route);
  }

  /** Forgets all routes but these. @param routes their keys in custody */
  keepOnly(routes: ReadonlySet<string>): void {
    for (const route of this.#routes.keys()) {
      if (routes.has(route)) continue;
      this.#routes.delete(route);
      this.#due.delete(route);
    }
  }

  /** Releases as many numbers as there may be writes now, and queues their routes. To be called about once a second. */
  release(): void {
    const now = this.#clock.monotonic();
    for (const route of this.#due) {
      const reported = this.#routes.get(route);
      const next = reported && this.#next(reported);
      if (reported === undefined || next === undefined) this.#due.delete(route);
      else if (now - reported.releasedAt >= INTERVAL_MS) {
        if (this.#bucket.take(now) > 0) return;
        this.#due.delete(route);
        reported.released = next;
        reported.releasedAt = now;
        this.#operator.enqueue.route(reported.key);
      }
    }
  }

  /** What the status of a route is to say. @param route its key in custody */
  of(route: string): BacklogStatus | undefined {
    return this.#routes.get(route)?.released;
  }

  /** `undefined`: the status says so already. */
  #next({ key, track }: Reported): BacklogStatus | undefined {
    const written = this.#operator.routes.get(key)?.status?.backlog;
    const next = track.status(written);
    return next === undefined || isSame(next, written) ? undefined : next;
  }
}

/** Nothing written is the same as an empty backlog. */
function isSame(
  next: BacklogStatus,
  { state = "Empty", waiting = 0, deadLetters = 0 }: Partial<BacklogStatus> = {},
): boolean {
  return next.state === state && next.waiting === waiting && next.deadLetters === deadLetters;
}
