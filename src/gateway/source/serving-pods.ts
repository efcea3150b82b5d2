import { COMPONENT_LABEL, INSTANCE_LABEL, leaderLeaseName, servingLeaseName } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client.ts";
import { LEASES, type Lease } from "../../kube/core-types.ts";
import { systemTimers, sleep, type Timers } from "../../lib/timers.ts";

/** Time between two looks at the Leases, ms. */
const LOOK_MS = 15_000;
/** Whoever has not renewed its Lease for this long counts no more, ms. */
const SILENT_MS = 30_000;

export interface ServingPodsOptions {
  readonly client: KubeClient;
  /** The release's. */
  readonly namespace: string;
  readonly instance: string;
  /** This gateway's Pod. */
  readonly podName: string | undefined;
  readonly timers?: Timers;
}

/**
 * Knows the other processes of the release by their Leases. A rate of `by: Route` is shared out over the gateways, and one of them tells the backlog when
 * no controller leads that does. While the API server is away, what was last seen holds.
 */
export class ServingPods {
  readonly #options: ServingPodsOptions;
  readonly #timers: Timers;
  #count = 1;
  #tellsBacklog = false;

  constructor(options: ServingPodsOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
  }

  /** Gateways that serve; at least 1, this one. */
  get count(): number {
    return this.#count;
  }

  /** Whether the gauges of the backlog are this gateway's to export: no controller leads, and it is the first of those that serve. */
  get tellsBacklog(): boolean {
    return this.#tellsBacklog;
  }

  /** Looks until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      await this.#look(signal).catch(() => undefined);
      // oxlint-disable-next-line no-await-in-loop -- as above
      await sleep(this.#timers, LOOK_MS, signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { client, namespace, instance, podName } = this.#options;
    const { items } = await client.resource(LEASES).list(namespace, { signal });
    const since = this.#timers.now() - SILENT_MS;
    const alive = items.filter(({ spec }) => Date.parse(spec?.renewTime ?? "") >= since);
    const serving = alive.filter((lease) => isServing(lease, instance)).map(({ metadata }) => metadata.name);
    this.#count = Math.max(1, serving.length);
    const isLed = alive.some(({ metadata }) => metadata.name === leaderLeaseName(instance));
    const first = serving.toSorted()[0];
    this.#tellsBacklog = !isLed && podName !== undefined && first === servingLeaseName(podName);
  }
}

function isServing({ metadata }: Lease, instance: string): boolean {
  return metadata.labels?.[COMPONENT_LABEL] === "serving" && metadata.labels[INSTANCE_LABEL] === instance;
}
