import type { WebhookDestinationStatus } from "../../api/generated/webhook-destination.ts";
import type { GateView } from "../../custody/gate.ts";
import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { GateReport } from "./destination-side.ts";
import type { DestinationObject } from "./destination-types.ts";
import { circuitOf, gateStatus } from "./status.ts";

/** Writes a second for the gates of all destinations together. */
const PER_SECOND = 10;
/** The gate of one destination changes in its status at most this often, ms. */
const INTERVAL_MS = 60_000;

interface Reported {
  /** As it was seen last. */
  seen: GateReport;
  /** As the status is to say it. */
  released?: GateReport;
  /** Monotonic ms. */
  releasedAt: number;
}

export interface GateReportsOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** @param key `namespace/name` */
  readonly statusOf: (key: string) => DestinationObject["status"];
  readonly enqueue: (key: string) => void;
}

/**
 * Decides which states of gates are written into statuses, and when: a failing endpoint opens and closes its circuit again and again, and each write goes to
 * every watcher. What is not released is not in a status, whatever it is written for.
 */
export class GateReports {
  readonly #options: GateReportsOptions;
  readonly #bucket: TokenBucket;
  readonly #reported = new Map<string, Reported>();
  /** Destinations whose status is not as their gate was last seen, the longest due first. */
  readonly #due = new Set<string>();

  constructor(options: GateReportsOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(PER_SECOND, PER_SECOND / 1_000, options.clock.monotonic());
  }

  /** Takes in one look at a gate. */
  note(key: string, view: GateView): void {
    const seen = reportOf(view);
    const reported = this.#reported.get(key) ?? { seen, releasedAt: Number.NEGATIVE_INFINITY };
    reported.seen = seen;
    this.#reported.set(key, reported);
    if (this.#isWritten(key, seen)) this.#settle(key, reported);
    else this.#due.add(key);
  }

  /** Forgets all but these. */
  keepOnly(isThere: (key: string) => boolean): void {
    for (const key of this.#reported.keys()) {
      if (isThere(key)) continue;
      this.#reported.delete(key);
      this.#due.delete(key);
    }
  }

  /** Releases as many as there may be writes now, and queues their destinations. To be called about once a second. */
  release(): void {
    const now = this.#options.clock.monotonic();
    for (const key of this.#due) {
      const reported = this.#reported.get(key);
      if (reported === undefined || this.#isWritten(key, reported.seen)) this.#due.delete(key);
      else if (now - reported.releasedAt >= INTERVAL_MS) {
        if (this.#bucket.take(now) > 0) return;
        this.#due.delete(key);
        reported.released = reported.seen;
        reported.releasedAt = now;
        this.#options.enqueue(key);
      }
    }
  }

  /** What the status of one is to say; `undefined`: what it says already. */
  of(key: string): GateReport | undefined {
    return this.#reported.get(key)?.released;
  }

  /** The status says so: then it may go on saying so. */
  #settle(key: string, reported: Reported): void {
    this.#due.delete(key);
    reported.released = reported.seen;
  }

  #isWritten(key: string, seen: GateReport): boolean {
    const { circuit = "Closed", disabled }: WebhookDestinationStatus = this.#options.statusOf(key) ?? {};
    const next = gateStatus(seen).disabled;
    const isSame = disabled?.reason === next?.reason && disabled?.since === next?.since;
    return circuit === circuitOf(seen) && isSame;
  }
}

function reportOf({ state, reason, changedAt = 0 }: GateView): GateReport {
  if (state !== "Disabled") return { state };
  return { state, disabled: { reason: reason === "Gone" ? "Gone" : "ConsecutiveFailures", since: changedAt } };
}
