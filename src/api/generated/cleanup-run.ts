// Generated from crds/cleanupruns.davit.dev.yaml by `npm run generate`. Change the CRD, not this file.

/**
 * One run of a CleanupPolicy for one scope, and the record of it.
 */
export interface CleanupRun {
  /**
   * davit.dev/v1alpha1
   */
  apiVersion?: string;
  /**
   * CleanupRun
   */
  kind?: string;
  metadata: CleanupRunMetadata;
  spec: CleanupRunSpec;
  status?: CleanupRunStatus;
}
export interface CleanupRunMetadata {
  name: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  resourceVersion?: string;
  creationTimestamp?: string;
  labels?: {
    [k: string]: string;
  };
  annotations?: {
    [k: string]: string;
  };
  [k: string]: unknown;
}
export interface CleanupRunSpec {
  /**
   * The Davit release of the policy. Immutable.
   */
  instance?: string;
  /**
   * A CleanupPolicy of the same namespace.
   */
  policyRef: {
    name: string;
    /**
     * Another policy of this name has another one.
     */
    uid: string;
  };
  /**
   * Unique for the policy.
   */
  runId: string;
  scope: string;
  /**
   * Versions last modified before it have expired. RFC 3339.
   */
  cutoff: string;
  /**
   * Default: Manual.
   */
  trigger?: "Push" | "Schedule" | "Manual";
  /**
   * Less than the mode of the scope, never more. Default: the mode of the scope.
   */
  requestedMode?: "RecordOnly" | "DryRun" | "Enforce";
  /**
   * When the push or the time of the schedule was; never later than the creation. Default: the creation.
   */
  receivedAt?: string;
  /**
   * The event that asked for it.
   */
  eventId?: string;
  /**
   * Ends it after the batch under way. Default: false.
   */
  cancel?: boolean;
}
export interface CleanupRunStatus {
  observedGeneration?: number;
  /**
   * @maxItems 32
   */
  conditions?: CleanupRunCondition[];
  phase?: "Pending" | "Running" | "Succeeded" | "CompletedWithSkips" | "Failed" | "Rejected" | "Cancelled";
  /**
   * Why it is in this phase.
   */
  reason?: string;
  message?: string;
  snapshot?: CleanupSnapshot;
  admittedAt?: string;
  startedAt?: string;
  finishedAt?: string;
  attempts?: number;
  /**
   * One after the other. maxAttempts bounds them.
   */
  attemptsWithoutProgress?: number;
  nextAttemptAt?: string;
  /**
   * Who works on it. A write needs the token.
   */
  lease?: {
    holder: string;
    token: string;
    renewedAt: string;
  };
  /**
   * Everything up to lastKey is settled in this pass.
   */
  checkpoint?: {
    pass: "Survey" | "Inspect" | "Delete" | "Verify";
    /**
     * How often the prefix has been gone through to delete.
     */
    round?: number;
    /**
     * base64 of the UTF-8 of a key.
     */
    lastKey?: string;
  };
  counters?: CleanupCounters;
  /**
   * kept and failed by reason.
   */
  reasons?: {
    [k: string]: number;
  };
  /**
   * SHA-256 chained over the versions planned, in their order: equal lists have equal digests.
   */
  planDigest?: string;
  /**
   * A few versions that were kept or failed.
   *
   * @maxItems 20
   */
  samples?: {
    /**
     * Its first 256 characters.
     */
    key: string;
    versionId?: string;
    reason: string;
  }[];
  lastError?: {
    reason: string;
    message: string;
    at: string;
  };
}
export interface CleanupRunCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}
/**
 * What the policy said when the run was admitted. An edit of the policy changes nothing of it.
 */
export interface CleanupSnapshot {
  generation: number;
  digest: string;
  s3: {
    endpoint?: string;
    region: string;
    bucket: string;
    forcePathStyle: boolean;
    checksum: "Auto" | "MD5";
  };
  prefix: string;
  mode: "RecordOnly" | "DryRun" | "Enforce";
  exclusions: {
    /**
     * @maxItems 16
     */
    tags: {
      key: string;
      value?: string;
    }[];
    objectLock: boolean;
    legalHold: boolean;
    /**
     * @maxItems 4
     */
    manifests: {
      prefix: string;
      keysFrom: string;
    }[];
    /**
     * @maxItems 16
     */
    protectedPrefixes: string[];
    maxAge: string;
  };
  batchSize: number;
  maxAttempts: number;
  runDeadline: string;
  safety: {
    maxDeletesPerRun: number;
    maxDeletePercent: number;
  };
}
/**
 * Counted again from the beginning by a pass that begins again.
 */
export interface CleanupCounters {
  /**
   * Versions and delete markers.
   */
  listed?: number;
  /**
   * Of these, those before the cutoff.
   */
  expired?: number;
  /**
   * Of these, those that nothing keeps.
   */
  planned?: number;
  plannedBytes?: number;
  /**
   * As the store said; a batch before a crash may count as absent.
   */
  deleted?: number;
  deletedBytes?: number;
  alreadyAbsent?: number;
  /**
   * Expired and not deleted, for a reason.
   */
  kept?: number;
  /**
   * Refused by the store for good.
   */
  failed?: number;
}
