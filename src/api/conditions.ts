/** Types of a WebhookRoute's conditions. `Ready` sums up; `Reconciling` and `Stalled` are true when something is not normal (kstatus). */
export const CONDITION_TYPES = [
  "Ready",
  "Reconciling",
  "Stalled",
  "Accepted",
  "SecretsResolved",
  "DestinationsResolved",
  "QueueReachable",
  "IngressReady",
  "Programmed",
  "WorkersAvailable",
  "RotationInProgress",
  "VerificationFailing",
  "AckBudgetAtRisk",
  "DedupeKeyWeak",
  "Suspended",
] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** `Ready` is true when all of these are, and `QueueReachable` once it has been false for 60 s. Circuits never count. */
export const READY_NEEDS = [
  "Accepted",
  "SecretsResolved",
  "DestinationsResolved",
  "IngressReady",
  "Programmed",
  "WorkersAvailable",
] as const satisfies readonly ConditionType[];

/** Why a condition is as it is. People alert on these words: add, never rename. */
export const REASONS = [
  "Reconciled",
  "Progressing",
  "InvalidSpec",
  "NotImplemented",
  "HostNotAllowed",
  "HostPathConflict",
  "NamespaceNotEnabled",
  "TLSMissing",
  "SecretNotFound",
  "SecretKeyMissing",
  "SecretEmpty",
  "SecretNotLabelled",
  "SecretExpired",
  "TooManyChanges",
  "OverlapOpen",
  "DestinationNotFound",
  "TooManyDestinations",
  "IdConflict",
  "QueueUnreachable",
  "GatewayNotReached",
  "WorkersUnavailable",
  "NoStableId",
  "Suspended",
] as const;
export type Reason = (typeof REASONS)[number];
