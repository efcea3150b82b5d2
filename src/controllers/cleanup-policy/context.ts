import type { Metrics } from "../../observability/metrics.ts";
import type { Operator } from "../webhook-route/operator.ts";
import type { CleanupIndex } from "./cleanup-index.ts";

/** What the controller of CleanupPolicies needs: what all controllers of the process share, and what is known of policies and runs. */
export interface CleanupContext
  extends Pick<Operator, "config" | "clock" | "logger" | "client" | "events" | "namespace" | "secrets" | "children"> {
  readonly index: CleanupIndex;
  readonly metrics: Pick<Metrics, "cleanupRunConflicts" | "cleanupRunDuration">;
  readonly isLeader: () => boolean;
  /** Queues a policy, by its key. */
  readonly enqueue: (key: string) => void;
}
