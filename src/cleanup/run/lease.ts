import type { RunRecord } from "../records/port.ts";

/** A lease is renewed when it is this old, ms: with the time a write takes that is at least every 10 s. */
export const RENEW_AFTER_MS = 8_000;
/** Who has not renewed for this long does nothing more, ms, from the moment at which the last renewal was sent. */
export const LOST_AFTER_MS = 20_000;
/** Who would take a run over watches its lease stand still for this long, ms. */
export const TAKEOVER_AFTER_MS = 30_000;

interface Observed {
  readonly lease: string;
  /** Monotonic ms. */
  readonly since: number;
}

/**
 * When a run may be taken over. Clocks of other machines are not trusted: a lease is dead when this process has seen it stand still for long enough; its holder stopped 10 s earlier,
 * by its own clock.
 */
export class LeaseWatch {
  readonly #observed = new Map<string, Observed>();
  readonly #own = new Set<string>();

  /** A token that this process wrote: a run with it that it does not work on may be taken at once. */
  issued(token: string): void {
    this.#own.add(token);
  }

  /** Ms until the run may be taken; 0: now. @param now monotonic ms */
  freeIn({ uid, status: { lease } }: RunRecord, now: number): number {
    if (lease === undefined || this.#own.has(lease.token)) {
      this.#observed.delete(uid);
      return 0;
    }
    const mark = `${lease.token} ${lease.renewedAt}`;
    const before = this.#observed.get(uid);
    if (before?.lease !== mark) {
      this.#observed.set(uid, { lease: mark, since: now });
      return TAKEOVER_AFTER_MS;
    }
    return Math.max(0, before.since + TAKEOVER_AFTER_MS - now);
  }

  /** Forgets runs that are not open. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#observed.keys()) if (!uids.has(uid)) this.#observed.delete(uid);
  }
}
