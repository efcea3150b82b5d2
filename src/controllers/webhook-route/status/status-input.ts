import type { Reason } from "../../../api/conditions.ts";
import type { WebhookRoute } from "../../../api/generated/webhook-route.ts";
import type { Problem } from "../../../api/problem.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import type { RingChange } from "../../../routes/key-ring.ts";
import type { Unresolved } from "../../../routes/observed-keys.ts";
import type { BacklogStatus } from "../custody/backlog-state.ts";
import type { Refusal } from "../exposure/host-policy.ts";
import type { Observed } from "../observing/gateway-observations.ts";

/** What was found of one condition. */
export interface Finding {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
}

/** A gateway Pod and its serving Lease. */
export interface GatewayPod {
  readonly name: string;
  readonly isReady: boolean;
  /** Unix ms at which its Lease was renewed last. Absent: it has none. */
  readonly renewedAt?: number;
  /** Highest `seq` whose publication it has looked at. */
  readonly servedSeq?: number;
  /** `seq` of this route's entry that it could not use. */
  readonly rejectedSeq?: number;
}

/** A worker Deployment as it is. */
export interface LiveDeployment {
  readonly name: string;
  readonly generation: number;
  readonly observedGeneration: number;
  /** `spec.replicas`. */
  readonly replicas: number;
  readonly available: number;
  /** `status.conditions`. */
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
}

export interface WorkerState {
  /** `undefined`: not there yet. */
  readonly deployment: LiveDeployment | undefined;
  /** Fewest replicas that count as available: 0 with KEDA and `min: 0`. */
  readonly minimum: number;
  /** What keeps the workers from being made or scaled. */
  readonly problem?: Refusal;
  /** Why new Pods could not reach Redis: said while too few are available. */
  readonly access?: Refusal;
}

export interface RouteStatusInput {
  /** With `metadata.generation` and the status written last. */
  readonly route: WebhookRoute;
  /** Unix ms. */
  readonly now: number;
  /** Where the provider posts to: `spec.verification.publicUrl` with its default. Absent: the spec is not valid. */
  readonly url?: string;
  /** Why the route is not served: invalid, host, conflict, namespace. The first that is known. */
  readonly refusal?: Refusal;
  /** The route was looked at in full; `false` or absent with `refusal` absent: `Accepted` is unknown. */
  readonly isAccepted?: boolean;
  /** Warnings of validation. */
  readonly warnings?: readonly Problem[];
  /** References without a key, signing keys and `env` included. Absent: not looked at. */
  readonly unresolved?: readonly Unresolved[];
  /** `DestinationsResolved`. Absent: inline destinations, which need no look-up. */
  readonly destinations?: Finding;
  readonly ingress?: Finding;
  /** What is published. Absent: nothing yet. */
  readonly entry?: RouteEntry;
  readonly rotation?: Omit<RingChange, "keys">;
  readonly gateways?: readonly GatewayPod[];
  readonly workers?: WorkerState;
  /** Whether Redis answers, and since when (Unix ms). */
  readonly queue?: { readonly isReachable: boolean; readonly since: number };
  /** Absent: not known, and the last one stays. */
  readonly backlog?: BacklogStatus;
  readonly circuits?: readonly {
    readonly name: string;
    readonly circuit: "Closed" | "Open";
    /** Unix ms. */
    readonly disabledSince?: number;
    readonly reason?: string;
  }[];
  /** What the gateways saw of requests lately. Absent: nothing is known, as while no gateway is there. */
  readonly observed?: Observed;
  readonly lastHandled?: { readonly enableAt?: string; readonly revokePreviousAt?: string };
}
