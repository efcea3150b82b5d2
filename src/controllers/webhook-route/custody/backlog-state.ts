import type { WebhookRouteStatus } from "../../../api/generated/webhook-route.ts";

export type BacklogStatus = Required<NonNullable<WebhookRouteStatus["backlog"]>>;

/** Something waits only if it did at every look of this time, ms: what is merely on its way is no backlog. */
const STEADY_MS = 30_000;
/** The number is compared with the one of this long ago, ms. */
const GROWTH_MS = 60_000;
/** More by this share is growth: less is noise. */
const GROWTH = 1.05;
/** Nothing delivered for this long, ms, is a standstill. */
const STUCK_MS = 300_000;
/** After a gap between looks, as when Redis did not answer, all is looked at anew, ms. */
const GAP_MS = 30_000;
/** A shown number stays while the true one is within this share of what it stands for. */
const SLACK = 0.05;

/** One look at a route in custody. */
export interface BacklogLook {
  /** Monotonic ms. */
  readonly at: number;
  /** Copies that are not final: waiting, active and delayed ones. */
  readonly waiting: number;
  readonly deadLetters: number;
  /** Age of the oldest copy that waits or is delayed, seconds. */
  readonly oldestSeconds: number;
  /** Since a copy was delivered last; absent when none is known to have been. */
  readonly deliveredSecondsAgo?: number | undefined;
  /** The route is suspended for delivery. */
  readonly isSuspended: boolean;
}

/**
 * What the looks of the last minutes say of one route.
 *
 * - `Empty`: at some look of the last 30 s nothing waited.
 * - `Stuck`: something has waited at every look of the last 5 minutes, nothing was delivered in that time, and the oldest has waited for as long, so that
 *   its age has grown throughout. It stays so until something is delivered or nothing waits. A route whose delivery is suspended is never stuck, and its
 *   5 minutes begin when it is resumed.
 * - `Growing`: at least 5 % more wait than a minute ago.
 * - `Draining`: something waits, and none of these holds: it gets less or stays as much.
 *
 * `waiting` is the fewest copies at any look of the last 30 s, `deadLetters` those of the last one; both have one significant digit, and keep it while the
 * true number moves by less than 5 % beyond it.
 */
export class BacklogTrack {
  #looks: BacklogLook[] = [];
  #since = 0;
  #waitingSince: number | undefined;

  note(look: BacklogLook): void {
    const last = this.#looks.at(-1);
    if (last === undefined || look.at - last.at > GAP_MS) {
      this.#looks = [];
      this.#since = look.at;
      this.#waitingSince = undefined;
    }
    this.#looks = this.#looks.filter(({ at }) => look.at - at <= GROWTH_MS + STEADY_MS);
    this.#looks.push(look);
    const isHeld = look.waiting > 0 && !look.isSuspended;
    this.#waitingSince = isHeld ? (this.#waitingSince ?? look.at) : undefined;
  }

  /**
   * @param previous as it was written last
   * @returns `undefined` until there have been looks for 30 s
   */
  status(previous: Partial<BacklogStatus> | undefined): BacklogStatus | undefined {
    const last = this.#looks.at(-1);
    if (last === undefined || last.at - this.#since < STEADY_MS) return undefined;
    const fewest = this.#fewest(last.at - STEADY_MS, last.at) ?? 0;
    return {
      state: this.#state(fewest, last, previous?.state),
      waiting: steadyDigit(fewest, previous?.waiting),
      deadLetters: steadyDigit(last.deadLetters, previous?.deadLetters),
    };
  }

  #state(fewest: number, last: BacklogLook, previous: BacklogStatus["state"] | undefined): BacklogStatus["state"] {
    if (fewest === 0) return "Empty";
    if (this.#isStuck(last, previous)) return "Stuck";
    const earlier = this.#fewest(last.at - GROWTH_MS - STEADY_MS, last.at - GROWTH_MS);
    // A new leader has seen no minute yet.
    if (earlier === undefined) return previous === "Growing" ? "Growing" : "Draining";
    return fewest > earlier * GROWTH ? "Growing" : "Draining";
  }

  #isStuck({ at, oldestSeconds, deliveredSecondsAgo }: BacklogLook, previous: string | undefined): boolean {
    if (this.#waitingSince === undefined) return false;
    if (deliveredSecondsAgo !== undefined && deliveredSecondsAgo * 1_000 < STUCK_MS) return false;
    if (previous === "Stuck") return true;
    return at - this.#waitingSince >= STUCK_MS && oldestSeconds * 1_000 >= STUCK_MS;
  }

  #fewest(from: number, to: number): number | undefined {
    const counts = this.#looks.filter(({ at }) => at >= from && at <= to).map(({ waiting }) => waiting);
    return counts.length === 0 ? undefined : Math.min(...counts);
  }
}

/** One significant digit: 7 → 7, 12 → 10, 96 → 100. Never 0 for something. */
export function oneDigit(count: number): number {
  if (count < 10) return Math.max(0, Math.round(count));
  const unit = 10 ** Math.floor(Math.log10(count));
  return Math.round(count / unit) * unit;
}

/** {@link oneDigit}, but a number that is shown already stays while it is nearly as good, so that one at the border does not go to and fro. */
export function steadyDigit(count: number, shown: number | undefined): number {
  const isNearly = [count * (1 - SLACK), count * (1 + SLACK)].some((near) => oneDigit(near) === shown);
  return shown !== undefined && isNearly ? shown : oneDigit(count);
}
