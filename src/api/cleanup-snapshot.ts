import { shortHash } from "../lib/hash.ts";
import { scopePrefix } from "./cleaned-prefix.ts";
import type { ResolvedCleanupPolicySpec } from "./cleanup-policy-defaults.ts";
import { CLEANUP_MODES, type CleanupMode } from "./cleanup-run.ts";
import type { CleanupSnapshot } from "./generated/cleanup-run.ts";

/** 16 hex digits over everything in a spec that decides which versions a run deletes: where it looks and what it leaves. */
export function policyDigest({ s3, prefixTemplate, exclusions }: ResolvedCleanupPolicySpec): string {
  const { tags, objectLock, legalHold, manifests, protectedPrefixes } = exclusions;
  const parts = [
    [s3.endpoint ?? "", s3.bucket, prefixTemplate],
    tags.map(({ key, value }) => (value === undefined ? [key] : [key, value])),
    [objectLock, legalHold],
    manifests.map(({ prefix, keysFrom }) => [prefix, keysFrom]),
    protectedPrefixes,
  ];
  return shortHash(JSON.stringify(parts));
}

/** What a run of a scope may do: never more than the scope's mode, whatever it asks for. */
export function modeOf(
  { scopes, defaultMode }: Pick<ResolvedCleanupPolicySpec, "scopes" | "defaultMode">,
  scope: string,
  requested?: CleanupMode,
): CleanupMode {
  const own = scopes.find(({ name }) => name === scope)?.mode ?? defaultMode;
  const least = Math.min(CLEANUP_MODES.indexOf(own), CLEANUP_MODES.indexOf(requested ?? own));
  return CLEANUP_MODES[least] ?? "RecordOnly";
}

/** What is written into a run at its admission: all of the policy that it goes by. No credentials, and no reference to any. */
export function snapshotOf(
  spec: ResolvedCleanupPolicySpec,
  run: { readonly scope: string; readonly mode: CleanupMode /** Of the policy. */; readonly generation: number },
): CleanupSnapshot {
  const { endpoint, region, bucket, forcePathStyle, checksum } = spec.s3;
  const { tags, objectLock, legalHold, manifests, protectedPrefixes, maxAge } = spec.exclusions;
  const { maxDeletesPerRun, maxDeletePercent } = spec.safety;
  return {
    generation: run.generation,
    digest: policyDigest(spec),
    s3: { ...(endpoint !== undefined && { endpoint }), region, bucket, forcePathStyle, checksum },
    prefix: scopePrefix(spec.prefixTemplate, run.scope),
    mode: run.mode,
    exclusions: {
      tags,
      objectLock,
      legalHold,
      manifests: manifests.map(({ prefix, keysFrom }) => ({ prefix: scopePrefix(prefix, run.scope), keysFrom })),
      // The list is a set: two of them may be the same for one scope.
      protectedPrefixes: [...new Set(protectedPrefixes.map((prefix) => scopePrefix(prefix, run.scope)))],
      maxAge,
    },
    batchSize: spec.batchSize,
    maxAttempts: spec.maxAttempts,
    runDeadline: spec.runDeadline,
    safety: { maxDeletesPerRun, maxDeletePercent },
  };
}
