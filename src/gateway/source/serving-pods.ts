import { COMPONENT_LABEL, INSTANCE_LABEL } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client.ts";
import { LEASES } from "../../kube/core-types.ts";
import { systemTimers, sleep, type Timers } from "../../lib/timers.ts";

/** Time between two looks at the Leases, ms. */
const LOOK_MS = 15_000;
/** A gateway whose Lease was not renewed for this long counts no more, ms. */
const SILENT_MS = 30_000;

export interface ServingPodsOptions {
  readonly client: KubeClient;
  /** The release's. */
  readonly namespace: string;
  readonly instance: string;
  readonly timers?: Timers;
}

/** Counts the gateways that serve, by their Leases: a rate of `by: Route` is shared out over them. While the API server is away the last count holds. */
export class ServingPods {
  readonly #options: ServingPodsOptions;
  readonly #timers: Timers;
  #count = 1;

  constructor(options: ServingPodsOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
  }

  /** At least 1: this one. */
  get count(): number {
    return this.#count;
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
    const { client, namespace, instance } = this.#options;
    const labelSelector = `${COMPONENT_LABEL}=serving,${INSTANCE_LABEL}=${instance}`;
    const { items } = await client.resource(LEASES).list(namespace, { labelSelector, signal });
    const since = this.#timers.now() - SILENT_MS;
    this.#count = Math.max(1, items.filter(({ spec }) => Date.parse(spec?.renewTime ?? "") >= since).length);
  }
}
