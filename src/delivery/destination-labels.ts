import type { WorkerDestination } from "./destinations.ts";

/** WebhookDestinations with series of their own in one worker. Each has a histogram of about 15 series, and Prometheus holds every series in memory. */
export const MAX_NAMED = 500;

/** `destination` of all others. No WebhookDestination has this name: `metadata.name` has no upper case. */
export const OTHERS = "OTHERS";

/** Values of the label `destination`. Inline destinations are as many as somebody wrote into routes; WebhookDestinations are customers, thousands of them. */
export class DestinationLabels {
  readonly #named = new Set<string>();
  readonly #most: number;

  constructor(most = MAX_NAMED) {
    this.#most = most;
  }

  /** The name of the first ones that are asked for, {@link OTHERS} for the rest. */
  of({ entry }: WorkerDestination): string {
    if (entry.kind !== "shared" || this.#named.has(entry.name)) return entry.name;
    if (this.#named.size >= this.#most) return OTHERS;
    this.#named.add(entry.name);
    return entry.name;
  }
}
