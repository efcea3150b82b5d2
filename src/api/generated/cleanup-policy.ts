// Generated from crds/cleanuppolicies.davit.dev.yaml by `npm run generate`. Change the CRD, not this file.

/**
 * Deletes expired versions of objects in an S3 bucket, scope by scope, when a signed push or a schedule says so.
 */
export interface CleanupPolicy {
  /**
   * davit.dev/v1alpha1
   */
  apiVersion?: string;
  /**
   * CleanupPolicy
   */
  kind?: string;
  metadata: CleanupPolicyMetadata;
  spec: CleanupPolicySpec;
  status?: CleanupPolicyStatus;
}
export interface CleanupPolicyMetadata {
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
export interface CleanupPolicySpec {
  /**
   * The Davit release that serves this policy. Immutable.
   */
  instance?: string;
  /**
   * The bucket. It must have versioning enabled, and MFA delete off.
   */
  s3: {
    /**
     * URL of an S3-compatible store, without a path. Default: AWS, by region.
     */
    endpoint?: string;
    /**
     * Default: us-east-1.
     */
    region?: string;
    bucket: string;
    /**
     * The bucket stands in the path instead of the host. Default: true with an endpoint, else false.
     */
    forcePathStyle?: boolean;
    /**
     * MD5: for stores that insist on Content-MD5 when versions are deleted. Default: Auto.
     */
    checksum?: "Auto" | "MD5";
    /**
     * A Secret with accessKeyId, secretAccessKey and, where there is one, sessionToken, and the label davit.dev/use: "true". Default: what the Pod has by its service account.
     */
    credentialsSecretRef?: {
      name: string;
    };
    /**
     * Authorities (PEM) instead of the system's, from a Secret with the label davit.dev/use: "true".
     */
    caSecretRef?: {
      name: string;
      key: string;
    };
  };
  /**
   * Where the objects of a scope lie: {scope} is a whole segment of it, and it ends in a slash.
   */
  prefixTemplate: string;
  /**
   * Scopes with a mode of their own, and those that a schedule runs for. A push may name others.
   *
   * @maxItems 1000
   */
  scopes?: {
    name: string;
    /**
     * Default: defaultMode.
     */
    mode?: "RecordOnly" | "DryRun" | "Enforce";
  }[];
  /**
   * RecordOnly keeps the run and touches nothing. Default: RecordOnly.
   */
  defaultMode?: "RecordOnly" | "DryRun" | "Enforce";
  /**
   * How old versions are when a scheduled run may delete them. A push brings a cutoff of its own.
   */
  expireAfter?: string;
  /**
   * Five fields of cron, or @hourly, @daily, @weekly, @monthly.
   */
  schedule?: string;
  /**
   * IANA name. Default: UTC.
   */
  timeZone?: string;
  /**
   * How late a missed run is still started, once. Default: 3600.
   */
  startingDeadlineSeconds?: number;
  /**
   * What stays although it has expired. All of it is asked before any delete.
   */
  exclusions?: {
    /**
     * A version with one of these tags stays.
     *
     * @maxItems 16
     */
    tags?: {
      key: string;
      /**
       * Default: any value.
       */
      value?: string;
    }[];
    /**
     * A version whose retention has not ended stays. Default: true.
     */
    objectLock?: boolean;
    /**
     * A version under legal hold stays. Default: true.
     */
    legalHold?: boolean;
    /**
     * Objects of the bucket that name keys still in use: these stay.
     *
     * @maxItems 4
     */
    manifests?: {
      /**
       * Every current object under it is read; {scope} stands for the scope.
       */
      prefix: string;
      /**
       * lines: a key a line. json:/POINTER: a key or a list of keys there; * stands for every element of a list.
       */
      keysFrom: string;
    }[];
    /**
     * Keys that begin with one of them stay; {scope} stands for the scope.
     *
     * @maxItems 16
     */
    protectedPrefixes?: string[];
    /**
     * Manifests read longer ago than this are read again. Default: 60s.
     */
    maxAge?: string;
  };
  /**
   * Versions deleted in one call. Default: 200.
   */
  batchSize?: number;
  /**
   * Attempts of a run that make no progress, one after the other. Default: as many as runDeadline has room for, see status.maxAttempts.
   */
  maxAttempts?: number;
  /**
   * How long a run may take, from its admission. Default: 24h.
   */
  runDeadline?: string;
  safety?: {
    /**
     * A run that would delete more deletes nothing and fails. Default: 100000.
     */
    maxDeletesPerRun?: number;
    /**
     * Of the versions listed. A run that would delete more deletes nothing and fails. Default: 50.
     */
    maxDeletePercent?: number;
    /**
     * A run whose cutoff is younger than this when it is received is rejected. Default: 24h.
     */
    minAge?: string;
    /**
     * Enforce needs a completed dry run, or an Enforce run, of the same scope and the same policy, not older than 30 days. Default: true.
     */
    requireDryRun?: boolean;
  };
  /**
   * Which finished runs are kept.
   */
  history?: {
    /**
     * Default: 20.
     */
    successfulRunsLimit?: number;
    /**
     * Of those that failed, were rejected or cancelled. Default: 50.
     */
    failedRunsLimit?: number;
    /**
     * Every finished run is kept at least this long. Default: 336h.
     */
    minAge?: string;
  };
  /**
   * The Pod that carries out the runs.
   */
  cleaner?: {
    /**
     * A service account of the namespace, for stores that know Pods by it. Default: one of its own, without rights in the store.
     */
    serviceAccountName?: string;
  };
  /**
   * No run is started, none goes on; the batch under way is finished. Default: false.
   */
  suspend?: boolean;
}
export interface CleanupPolicyStatus {
  observedGeneration?: number;
  /**
   * @maxItems 32
   */
  conditions?: CleanupPolicyCondition[];
  /**
   * Of everything in the spec that decides what a run deletes.
   */
  digest?: string;
  /**
   * As it is in force.
   */
  maxAttempts?: number;
  /**
   * Runs that are pending or running.
   */
  openRuns?: number;
  schedule?: {
    /**
     * The newest time that is settled: runs were made for it, or it is missed.
     */
    lastAt?: string;
    nextAt?: string;
    /**
     * Times that no run was made for.
     */
    missed?: number;
  };
  /**
   * The run that finished last.
   */
  lastRun?: {
    name: string;
    phase: string;
    finishedAt: string;
  };
  /**
   * What is known of each scope for ever, also when its runs are gone.
   *
   * @maxItems 2000
   */
  scopes?: CleanupPolicyScopeStatus[];
}
export interface CleanupPolicyCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}
export interface CleanupPolicyScopeStatus {
  name: string;
  /**
   * The highest cutoff that an Enforce run completed.
   */
  lastCutoff?: string;
  /**
   * The run of lastCutoff.
   */
  lastRunId?: string;
  /**
   * digest of the last completed dry run or Enforce run.
   */
  verifiedDigest?: string;
  verifiedAt?: string;
}
