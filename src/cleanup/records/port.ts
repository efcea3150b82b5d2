import type { CleanupRunSpec, CleanupRunStatus } from "../../api/generated/cleanup-run.ts";

/** Where a cleaner finds the runs of its policy and keeps what becomes of them: the Kubernetes API in a cluster, files in `davit dev`. */
export interface RunRecords {
  /** The runs that are not finished, as they are known now, with what {@link write} wrote last. The same object until it changes. */
  open(): readonly RunRecord[];
  /** The policy, as far as it concerns runs under way; `undefined`: it is gone, or another one has its name. */
  policy(): PolicyRecord | undefined;
  /** Calls back on every change of {@link open} and {@link policy}. @returns ends it */
  onChange(listener: () => void): () => void;
  /**
   * Writes a whole status over the one that `run` has.
   * @returns the record as written, to write over next
   * @throws {@link RecordConflictError} when somebody wrote in between, or it is gone: whoever holds `run` may not go on
   * @throws any other error when it is not known whether it was written
   */
  write(run: RunRecord, status: CleanupRunStatus): Promise<RunRecord>;
}

export interface RunRecord {
  readonly name: string;
  readonly uid: string;
  /** What {@link RunRecords.write} compares: the API server's resourceVersion, or a counter. */
  readonly version: string;
  /** metadata.generation; absent where there is none. */
  readonly generation?: number;
  readonly spec: CleanupRunSpec;
  readonly status: CleanupRunStatus;
  /** Unix ms: `spec.receivedAt`, else the creation. The oldest is carried out first. */
  readonly receivedAt: number;
}

export interface PolicyRecord {
  readonly uid: string;
  readonly suspended: boolean;
  /** The highest cutoff that an Enforce run of a scope completed, Unix ms. */
  readonly completedCutoff: (scope: string) => number | undefined;
}

/** The record is not what it was when it was read. */
export class RecordConflictError extends Error {
  override readonly name = "RecordConflictError";
  readonly code = "record_conflict";
}
