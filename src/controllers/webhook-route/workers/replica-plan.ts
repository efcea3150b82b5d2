import { REPLICAS_ANNOTATION } from "../../../api/names.ts";
import type { Deployment } from "../../../kube/core-types.ts";
import type { KubeObject } from "../../../kube/objects.ts";

/** Field manager under which the live `replicas` are applied before Davit's own lets go of the field. */
export const HAND_OVER_MANAGER = "davit-replicas";

/** ms between two steps down after autoscaling has ended. */
export const STEP_MS = 30_000;

/** Most of the replicas that one step takes, at least 1 replica. */
const STEP_SHARE = 0.2;

/** What the specs ask for. `autoscaled`: Davit leaves `replicas` alone. */
export type WantedReplicas = { readonly type: "fixed"; readonly replicas: number } | { readonly type: "autoscaled" };

/** What is there. */
export interface LiveReplicas {
  /** `spec.replicas` of the live Deployment. */
  readonly replicas: number;
  /** Its annotation {@link REPLICAS_ANNOTATION}: whose `replicas` were as of the last apply. */
  readonly owner?: string | undefined;
}

export interface ReplicaPlan {
  /** `spec.replicas` of the Deployment that is applied. Absent: the field is not Davit's. */
  readonly replicas?: number;
  /** Value of {@link REPLICAS_ANNOTATION}: `davit`, `autoscaler` or `stepping <RFC 3339 of the last step>`. */
  readonly owner: string;
  /** Apply `spec.replicas` with this value under {@link HAND_OVER_MANAGER} first, or the API server resets the field to 1. */
  readonly handOver?: number;
  /** ms after which the next step down is due. */
  readonly againInMs?: number;
}

const STEPPING = "stepping ";

/**
 * How many replicas a worker Deployment is applied with. Handing over to an autoscaler leaves the live number in place; when autoscaling ends
 * with more than asked for, Davit takes the field back at the live number and goes down by at most a fifth every {@link STEP_MS}, so that a
 * backlog is not left to one Pod at once. Whoever asks for more gets them at once.
 *
 * The annotation is written by the apply that makes it true, so a crash before that repeats the hand-over.
 *
 * @param live `undefined`: there is no Deployment yet
 * @param now Unix ms
 */
export function replicaPlan(live: LiveReplicas | undefined, wanted: WantedReplicas, now: number): ReplicaPlan {
  if (wanted.type === "autoscaled") {
    const isHanded = live === undefined || live.owner === "autoscaler";
    return { owner: "autoscaler", ...(isHanded ? {} : { handOver: live.replicas }) };
  }
  const target = wanted.replicas;
  const isOurs = live === undefined || live.owner === undefined || live.owner === "davit";
  if (isOurs || live.replicas <= target) return { replicas: target, owner: "davit" };
  return stepDown(live, target, now);
}

function stepDown({ replicas, owner = "" }: LiveReplicas, target: number, now: number): ReplicaPlan {
  const last = owner.startsWith(STEPPING) ? Date.parse(owner.slice(STEPPING.length)) : Number.NaN;
  // Without a last step this is the first look after the autoscaler: take the field back before anything is taken away.
  if (Number.isNaN(last)) return { replicas, owner: steppingAt(now), againInMs: STEP_MS };
  if (now < last + STEP_MS) return { replicas, owner, againInMs: last + STEP_MS - now };
  const next = Math.max(target, replicas - Math.max(1, Math.floor(replicas * STEP_SHARE)));
  if (next === target) return { replicas: target, owner: "davit" };
  return { replicas: next, owner: steppingAt(now), againInMs: STEP_MS };
}

function steppingAt(now: number): string {
  return `${STEPPING}${new Date(now).toISOString()}`;
}

/** What {@link replicaPlan} needs of a live Deployment. */
export function liveReplicas(deployment: Deployment | undefined): LiveReplicas | undefined {
  if (deployment === undefined) return undefined;
  return { replicas: deployment.spec?.replicas ?? 1, owner: deployment.metadata.annotations?.[REPLICAS_ANNOTATION] };
}

/** The apply, under {@link HAND_OVER_MANAGER}, that keeps the number in place when Davit lets go of it. */
export function handOverPatch(
  ref: { readonly name: string; readonly namespace: string },
  replicas: number,
): KubeObject {
  const { name, namespace } = ref;
  const patch = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace }, spec: { replicas } };
  return patch;
}
