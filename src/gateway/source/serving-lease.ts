import {
  COMPONENT_LABEL,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  REJECTED_ANNOTATION,
  SERVED_SEQ_ANNOTATION,
  servingLeaseName,
} from "../../api/names.ts";
import type { KubeClient } from "../../kube/client.ts";
import { HeartbeatLease } from "../../kube/heartbeat-lease.ts";
import { systemTimers, type Timers } from "../../lib/timers.ts";
import type { Logger } from "../../observability/logger.ts";
import { buildObservations, OBSERVATIONS_ANNOTATION, type RouteObservation } from "../../routes/observations.ts";

/** A Lease is renewed this often, ms; readers take one older than {@link SILENT_AFTER_S} for silence. */
const BEAT_MS = 10_000;
const SILENT_AFTER_S = 30;
/** News are told at most this often, ms. */
const NEWS_MS = 250;
const CALL_TIMEOUT_MS = 5_000;
/** Most rejected publications that are named. */
const MAX_REJECTED = 100;

const NOTHING_OBSERVED = buildObservations([]);

export interface ServingLeaseOptions {
  readonly client: KubeClient;
  /** The release's. */
  readonly namespace: string;
  readonly instance: string;
  readonly podName: string;
  /** Makes the Pod the Lease's owner, so that it goes with it. */
  readonly podUid: string | undefined;
  /** What the gateway serves. */
  readonly served: () => { readonly seq: number; readonly rejected: ReadonlyMap<string, { readonly seq: number }> };
  /** What the gateway saw of its routes lately: goes along with a beat, and is never the cause of one. */
  readonly observations?: () => readonly RouteObservation[];
  readonly logger: Logger;
  readonly timers?: Timers;
}

/** Tells the controller which published routes this gateway serves: annotations of a Lease of its Pod. */
export class ServingLease {
  readonly #options: ServingLeaseOptions;
  readonly #lease: HeartbeatLease;
  readonly #timers: Timers;
  readonly #stopping = new AbortController();
  #cancel: () => void = () => undefined;
  /** Monotonic ms at which the next beat is due. */
  #dueAt = Infinity;
  #lastAt = Number.NEGATIVE_INFINITY;
  #beating = false;
  #told = "";
  #failing = false;

  constructor(options: ServingLeaseOptions) {
    const { client, namespace, instance, podName, podUid } = options;
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#lease = new HeartbeatLease({
      client,
      namespace,
      name: servingLeaseName(podName),
      identity: podName,
      fieldManager: "davit-gateway",
      leaseDurationSeconds: SILENT_AFTER_S,
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: instance, [COMPONENT_LABEL]: "serving" },
      ...(podUid && { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: podName, uid: podUid }] }),
    });
  }

  /** Something may have changed: told at once, but not more than four times a second. The first call begins to renew the Lease. */
  changed(): void {
    if (this.#text() === this.#told && this.#dueAt !== Infinity) return;
    this.#schedule(Math.max(this.#timers.monotonic(), this.#lastAt + NEWS_MS));
  }

  stop(): void {
    this.#stopping.abort();
    this.#cancel();
  }

  #schedule(at: number): void {
    if (this.#stopping.signal.aborted || this.#beating || at >= this.#dueAt) return;
    this.#cancel();
    this.#dueAt = at;
    this.#cancel = this.#timers.after(at - this.#timers.monotonic(), () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const text = this.#text();
    this.#beating = true;
    this.#lastAt = this.#timers.monotonic();
    try {
      await this.#lease.beat(
        { ...(JSON.parse(text) as Record<string, string>), ...this.#observed() },
        {
          signal: this.#stopping.signal,
          timeoutMs: CALL_TIMEOUT_MS,
        },
      );
      this.#told = text;
      this.#failing = false;
    } catch (error) {
      this.#onFailure(error);
    }
    this.#beating = false;
    this.#dueAt = Infinity;
    this.#schedule(this.#lastAt + BEAT_MS);
    if (!this.#failing) this.changed();
  }

  #text(): string {
    const { seq, rejected } = this.#options.served();
    const all = [...rejected].map(([name, one]) => [name, one.seq] as const).toSorted(([, a], [, b]) => a - b);
    // Whoever reads a seq takes all up to it for served that are not named.
    const [, firstUnnamed = Infinity] = all[MAX_REJECTED] ?? [];
    return JSON.stringify({
      [SERVED_SEQ_ANNOTATION]: String(Math.min(seq, firstUnnamed - 1)),
      [REJECTED_ANNOTATION]: JSON.stringify(Object.fromEntries(all.slice(0, MAX_REJECTED))),
    });
  }

  #observed(): Readonly<Record<string, string>> {
    const text = buildObservations(this.#options.observations?.() ?? []);
    return text === NOTHING_OBSERVED ? {} : { [OBSERVATIONS_ANNOTATION]: text };
  }

  #onFailure(error: unknown): void {
    if (this.#failing || this.#stopping.signal.aborted) return;
    this.#failing = true;
    this.#options.logger.warn({ err: error }, "the serving Lease cannot be written: routes are served all the same");
  }
}
