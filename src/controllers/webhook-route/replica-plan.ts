/** Field manager under which the live `replicas` are applied before Davit's own lets go of the field. */
export const HAND_OVER_MANAGER = "davit-replicas";

/** On a worker Deployment: who sets `replicas` as of the last apply, `davit`, `autoscaler` or `stepping <RFC 3339>`. */
export const REPLICAS_ANNOTATION = "davit.dev/replicas";

/** What the specs ask for. */
export type WantedReplicas = { readonly type: "fixed"; readonly replicas: number } | { readonly type: "autoscaled" };

/** What is there: `spec.replicas` of the live Deployment and its {@link REPLICAS_ANNOTATION}. */
export interface LiveReplicas {
  readonly replicas: number;
  readonly owner?: string | undefined;
}

export interface ReplicaPlan {
  /** `spec.replicas` of the Deployment that is applied. Absent: the field is not Davit's. */
  readonly replicas?: number;
  /** Value of {@link REPLICAS_ANNOTATION}. */
  readonly owner: string;
  /** Apply `spec.replicas` with this value under {@link HAND_OVER_MANAGER} first, else the Deployment drops to 1. */
  readonly handOver?: number;
  /** ms after which the next step down is due. */
  readonly againInMs?: number;
}

/** @param now Unix ms */
export function replicaPlan(_live: LiveReplicas | undefined, wanted: WantedReplicas, _now: number): ReplicaPlan {
  return wanted.type === "fixed" ? { replicas: wanted.replicas, owner: "davit" } : { owner: "autoscaler" };
}
