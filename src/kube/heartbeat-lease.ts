import { systemClock, type Clock } from "../lib/clock.ts";
import type { KubeClient } from "./client.ts";
import { LEASES, type Lease } from "./core-types.ts";
import { microTime } from "./micro-time.ts";
import type { Live, OwnerReference } from "./objects.ts";
import type { CallOptions } from "./resource-client.ts";

/** A Lease of one process, that says it lives and what it has to tell. */
export interface HeartbeatOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  /** Field manager of the Lease. */
  readonly fieldManager: string;
  /** Readers take a beat older than this for silence, s. */
  readonly leaseDurationSeconds: number;
  /** Usually the process's pod, so that the Lease goes with it. */
  readonly ownerReferences?: readonly OwnerReference[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

/** Writes that Lease. */
export class HeartbeatLease {
  readonly #options: HeartbeatOptions;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /**
   * Creates the Lease or renews it: one call, a server-side apply that owns it whole. Annotations of an earlier beat that are missing now go.
   * @throws as every write (resource-client.ts); the next beat may simply try again
   */
  beat(annotations: Readonly<Record<string, string>>, call: CallOptions = {}): Promise<Live<Lease>> {
    const { client, namespace, name, identity, fieldManager, leaseDurationSeconds, ownerReferences, labels } =
      this.#options;
    const clock = this.#options.clock ?? systemClock;
    const lease: Lease = {
      metadata: {
        namespace,
        name,
        annotations,
        ...(ownerReferences && { ownerReferences }),
        ...(labels && { labels }),
      },
      spec: { holderIdentity: identity, leaseDurationSeconds, renewTime: microTime(clock.now()) },
    };
    return client.resource(LEASES).apply(lease, { fieldManager, force: true, ...call });
  }
}
