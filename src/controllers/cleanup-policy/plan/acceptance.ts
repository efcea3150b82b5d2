import { Cron } from "croner";
import { CLEANUP_MODES } from "../../../api/cleanup-run.ts";
import { parseDuration } from "../../../lib/duration.ts";
import { shortHash } from "../../../lib/hash.ts";
import type { Refusal } from "../../webhook-route/exposure/host-policy.ts";
import type { AcceptedPolicy } from "./accepted-policy.ts";
import type { PolicyView } from "./views.ts";

/** What the spec of a policy comes to, or why it is refused. */
export type Acceptance = AcceptedPolicy | { readonly refusal: Refusal };

/** Checks a policy and resolves its defaults. */
export function acceptedPolicy(policy: PolicyView): Acceptance {
  const { spec, generation } = policy;
  const { exclusions = {}, safety = {}, history = {} } = spec;
  const s3 = {
    region: spec.s3.region ?? "us-east-1",
    bucket: spec.s3.bucket,
    forcePathStyle: spec.s3.forcePathStyle ?? spec.s3.endpoint !== undefined,
    checksum: spec.s3.checksum ?? "Auto",
    ...(spec.s3.endpoint !== undefined && { endpoint: spec.s3.endpoint }),
  } as const;
  const core = {
    s3,
    exclusions: {
      tags: [],
      objectLock: true,
      legalHold: true,
      manifests: [],
      protectedPrefixes: [],
      maxAge: "60s",
      ...exclusions,
    },
    safety: { maxDeletesPerRun: safety.maxDeletesPerRun ?? 100_000, maxDeletePercent: safety.maxDeletePercent ?? 50 },
  };
  const digest = shortHash(JSON.stringify([core, spec.prefixTemplate]));
  const maxAttempts = spec.maxAttempts ?? 10;
  const cron = spec.schedule === undefined ? undefined : new Cron(spec.schedule, { timezone: spec.timeZone ?? "UTC" });
  return {
    digest,
    maxAttempts,
    s3,
    minAgeMs: parseDuration(safety.minAge ?? "24h"),
    requireDryRun: safety.requireDryRun ?? true,
    history: {
      successful: history.successfulRunsLimit ?? 20,
      failed: history.failedRunsLimit ?? 50,
      minAgeMs: parseDuration(history.minAge ?? "336h"),
    },
    modeOf: (scope, requested) => {
      const own = spec.scopes?.find(({ name }) => name === scope)?.mode ?? spec.defaultMode ?? "RecordOnly";
      const least = Math.min(CLEANUP_MODES.indexOf(own), CLEANUP_MODES.indexOf(requested ?? own));
      return CLEANUP_MODES[least] ?? "RecordOnly";
    },
    snapshot: (scope, mode) => ({
      ...core,
      generation,
      digest,
      prefix: spec.prefixTemplate.replace("{scope}", scope),
      mode,
      batchSize: spec.batchSize ?? 200,
      maxAttempts,
      runDeadline: spec.runDeadline ?? "24h",
    }),
    ...(cron !== undefined && {
      schedule: {
        ticks: {
          next: (after: number) => cron.nextRun(new Date(after))?.getTime(),
          latest: (at: number) => cron.previousRuns(1, new Date(at + 1_000))[0]?.getTime(),
          count: (from: number, to: number) =>
            cron.nextRuns(10_000, new Date(from)).filter((t) => t.getTime() <= to).length,
        },
        expireAfterMs: parseDuration(spec.expireAfter ?? "876000h"),
        startingDeadlineMs: (spec.startingDeadlineSeconds ?? 3_600) * 1_000,
      },
    }),
  };
}
