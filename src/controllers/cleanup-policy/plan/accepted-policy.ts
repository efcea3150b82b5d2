import type { CleanupMode } from "../../../api/cleanup-run.ts";
import type { Schedule } from "../../../api/cron.ts";
import type { CleanupSnapshot } from "../../../api/generated/cleanup-run.ts";
import type { HistoryLimits } from "./pruning.ts";

/** What the spec of a policy that is accepted comes to. Durations in ms. */
export interface AcceptedPolicy {
  /** Of everything that decides what a run deletes. */
  readonly digest: string;
  readonly maxAttempts: number;
  readonly s3: CleanupSnapshot["s3"];
  readonly minAgeMs: number;
  readonly requireDryRun: boolean;
  readonly history: HistoryLimits;
  /** What is to be considered, as sentences. */
  readonly warnings?: readonly string[];
  /** What a run of a scope may do: never more than the scope's mode, whatever it asks for. */
  readonly modeOf: (scope: string, requested: CleanupMode | undefined) => CleanupMode;
  /** What is written into a run at its admission. */
  readonly snapshot: (scope: string, mode: CleanupMode) => CleanupSnapshot;
  /** Absent: runs start by pushes, or by hand. */
  readonly schedule?:
    | {
        readonly ticks: Schedule;
        readonly expireAfterMs: number;
        readonly startingDeadlineMs: number;
      }
    | undefined;
}
