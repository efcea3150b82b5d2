import { parseDuration } from "../lib/duration.ts";
import { attemptsWithin } from "./cleanup-attempts.ts";
import type { CleanupMode } from "./cleanup-run.ts";
import type { CleanupPolicySpec } from "./generated/cleanup-policy.ts";
import type { CleanupSnapshot } from "./generated/cleanup-run.ts";

type Spec = CleanupPolicySpec;
type Full<T> = Required<NonNullable<T>>;

/** A spec with every default filled in, in the words of the manifest. */
export interface ResolvedCleanupPolicySpec
  extends Required<Pick<Spec, "instance" | "prefixTemplate" | "batchSize" | "maxAttempts" | "runDeadline" | "suspend">>,
    Pick<Spec, "expireAfter" | "schedule" | "cleaner"> {
  readonly s3: CleanupSnapshot["s3"] & Pick<Spec["s3"], "credentialsSecretRef" | "caSecretRef">;
  readonly scopes: readonly { readonly name: string; readonly mode: CleanupMode }[];
  readonly defaultMode: CleanupMode;
  /** Only with a schedule. */
  readonly timeZone?: string;
  /** Only with a schedule. */
  readonly startingDeadlineSeconds?: number;
  readonly exclusions: CleanupSnapshot["exclusions"];
  readonly safety: Full<Spec["safety"]>;
  readonly history: Full<Spec["history"]>;
}

/** Fills in every default of a CleanupPolicy. Never written back to the spec; released defaults never change. */
export function resolveCleanupPolicySpec(spec: Spec): ResolvedCleanupPolicySpec {
  const { defaultMode = "RecordOnly", runDeadline = "24h" } = spec;
  return {
    instance: "default",
    batchSize: 200,
    suspend: false,
    ...spec,
    defaultMode,
    runDeadline,
    maxAttempts: spec.maxAttempts ?? attemptsWithin(parseDuration(runDeadline)),
    s3: { region: "us-east-1", forcePathStyle: spec.s3.endpoint !== undefined, checksum: "Auto", ...spec.s3 },
    scopes: (spec.scopes ?? []).map((scope) => ({ mode: defaultMode, ...scope })),
    ...(spec.schedule !== undefined && {
      timeZone: spec.timeZone ?? "UTC",
      startingDeadlineSeconds: spec.startingDeadlineSeconds ?? 3_600,
    }),
    exclusions: {
      tags: [],
      objectLock: true,
      legalHold: true,
      manifests: [],
      protectedPrefixes: [],
      maxAge: "60s",
      ...spec.exclusions,
    },
    safety: { maxDeletesPerRun: 100_000, maxDeletePercent: 50, minAge: "24h", requireDryRun: true, ...spec.safety },
    history: { successfulRunsLimit: 20, failedRunsLimit: 50, minAge: "336h", ...spec.history },
  };
}
