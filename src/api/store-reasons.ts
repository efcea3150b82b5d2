/** How a call of an object store may fail that is the store's doing, or its credentials'. People alert on these words: add, never rename. */
const CALL_REASONS = [
  "InvalidCredentials",
  "AccessDenied",
  "BucketNotFound",
  "InvalidListing",
  "ClockSkew",
  "SlowDown",
  "Timeout",
  "Unreachable",
  "TLSFailed",
  "StoreUnavailable",
  "InvalidAnswer",
  "RefusedByStore",
] as const;
export type StoreCallReason = (typeof CALL_REASONS)[number];

/** What a cleaner finds of a bucket, or of its store's pace, that keeps it from deleting there. */
const BUCKET_REASONS = [
  "VersioningNotEnabled",
  "VersioningSuspended",
  "MFADeleteEnabled",
  "LockRightsMissing",
  "StoreTooSlow",
] as const;

/** Reasons of CleanupRuns that are about the store and not about the run: cleaners write them, and the condition `StoreReachable` of a policy repeats them. */
export const STORE_REASONS = [...CALL_REASONS, ...BUCKET_REASONS] as const;
export type StoreReason = (typeof STORE_REASONS)[number];
