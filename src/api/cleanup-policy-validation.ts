import { isIPv4 } from "node:net";
import { parseDuration } from "../lib/duration.ts";
import { isRecord } from "../lib/record.ts";
import { refuse, warn } from "./check.ts";
import { isCleaned } from "./cleaned-prefix.ts";
import { attemptsWithin } from "./cleanup-attempts.ts";
import { type ResolvedCleanupPolicySpec, resolveCleanupPolicySpec } from "./cleanup-policy-defaults.ts";
import { parseInstant } from "./cleanup-request.ts";
import { crdSchema } from "./crd.ts";
import { parseSchedule } from "./cron.ts";
import type { CleanupPolicy } from "./generated/cleanup-policy.ts";
import type { CleanupRun } from "./generated/cleanup-run.ts";
import { hasErrors, type Problem } from "./problem.ts";
import { withoutNulls } from "./schema-defaults.ts";
import { checkStructure, type ValidateOptions } from "./validation.ts";

/** What came of it. `policy` and `spec` are there when nothing refuses the manifest. */
export interface CleanupPolicyValidation {
  /** Errors and warnings, in the order of the checks. */
  readonly problems: readonly Problem[];
  readonly policy?: CleanupPolicy;
  /** The spec with every default filled in. */
  readonly spec?: ResolvedCleanupPolicySpec;
}

/** What came of it. `run` is there when nothing refuses the manifest. */
export interface CleanupRunValidation {
  readonly problems: readonly Problem[];
  readonly run?: CleanupRun;
}

/** Checks a CleanupPolicy the way the API server and the controller do together, as `validateRoute` does a route. */
export function validateCleanupPolicy(
  manifest: unknown,
  { previous }: Pick<ValidateOptions, "previous"> = {},
): CleanupPolicyValidation {
  const object = withoutNulls(crdSchema("CleanupPolicy"), manifest);
  const structural = checkStructure(object, previous, "CleanupPolicy");
  if (!isPolicy(object, structural)) return { problems: structural };
  const spec = resolveCleanupPolicySpec(object.spec);
  const problems = CHECKS.flatMap((check) => check(spec));
  return hasErrors(problems) ? { problems } : { problems, policy: object, spec };
}

/** Checks a CleanupRun as {@link validateCleanupPolicy} does a policy. */
export function validateCleanupRun(
  manifest: unknown,
  { previous }: Pick<ValidateOptions, "previous"> = {},
): CleanupRunValidation {
  const object = withoutNulls(crdSchema("CleanupRun"), manifest);
  const structural = checkStructure(object, previous, "CleanupRun");
  if (!isRun(object, structural)) return { problems: structural };
  const { cutoff, receivedAt } = object.spec;
  const problems = Object.entries({ cutoff, receivedAt }).flatMap(([field, value]) => instantProblems(field, value));
  return hasErrors(problems) ? { problems } : { problems, run: object };
}

/** An object in which the schema found nothing wrong has the type that is generated from the schema. */
function isPolicy(object: unknown, structural: readonly Problem[]): object is CleanupPolicy {
  return isRecord(object) && !hasErrors(structural);
}

/** As {@link isPolicy}. */
function isRun(object: unknown, structural: readonly Problem[]): object is CleanupRun {
  return isRecord(object) && !hasErrors(structural);
}

function instantProblems(field: string, value: string | undefined): Problem[] {
  if (value === undefined || parseInstant(value) !== undefined) return [];
  const remedy = "write it with an offset, such as 2026-01-31T00:00:00Z";
  return [refuse({ path: `spec.${field}`, message: "is no RFC 3339 time", remedy })];
}

type Check = (spec: ResolvedCleanupPolicySpec) => readonly Problem[];

const CHECKS: readonly Check[] = [
  function scheduleHasTimes({ schedule, timeZone = "UTC" }) {
    if (schedule === undefined) return [];
    const parsed = parseSchedule(schedule, timeZone, Date.now());
    if (parsed.ok) return [];
    return [refuse({ path: `spec.${parsed.at}`, message: parsed.message, remedy: parsed.remedy })];
  },
  function scheduledCutoffsAreOldEnough({ schedule, expireAfter, safety: { minAge } }) {
    if (schedule === undefined || expireAfter === undefined) return [];
    if (parseDuration(expireAfter) >= parseDuration(minAge)) return [];
    const message = `every scheduled run would be rejected: its cutoff is younger than safety.minAge (${minAge})`;
    return [refuse({ path: "spec.expireAfter", message, remedy: "lengthen expireAfter, or shorten safety.minAge" })];
  },
  function protectedPrefixesAreKeys({ exclusions: { protectedPrefixes } }) {
    return protectedPrefixes.flatMap((prefix, index) =>
      prefix.startsWith("/")
        ? [
            warn({
              path: `spec.exclusions.protectedPrefixes[${index}]`,
              message: "keys of objects seldom begin with a slash, so that it may protect nothing",
              remedy: "write the prefix as the keys have it",
            }),
          ]
        : [],
    );
  },
  function manifestsAreNotCleaned({ prefixTemplate, exclusions: { manifests, protectedPrefixes } }) {
    return manifests.flatMap(({ prefix }, index) =>
      isCleaned(prefixTemplate, prefix, protectedPrefixes)
        ? [
            warn({
              path: `spec.exclusions.manifests[${index}].prefix`,
              message: "manifests lie among what is cleaned: an old one would be deleted as well",
              remedy: "protect them by exclusions.protectedPrefixes, or keep them elsewhere",
            }),
          ]
        : [],
    );
  },
  function attemptsFitTheDeadline({ maxAttempts, runDeadline }) {
    const most = attemptsWithin(parseDuration(runDeadline));
    if (maxAttempts <= most) return [];
    const message = `runDeadline (${runDeadline}) ends a run before: it has room for ${most} attempts with the pauses between them`;
    return [warn({ path: "spec.maxAttempts", message, remedy: "leave it out, or lengthen runDeadline" })];
  },
  function bucketCanExist({ s3: { bucket } }) {
    if (!bucket.includes("..") && !isIPv4(bucket)) return [];
    const message = "no bucket has such a name: two dots stand together, or it is an IP address";
    return [refuse({ path: "spec.s3.bucket", message, remedy: "write the name of a bucket" })];
  },
  function deletionsAreRehearsed({ safety, ...spec }) {
    if (!enforces(spec) || safety.requireDryRun) return [];
    const message = "runs delete what no dry run has shown";
    return [warn({ path: "spec.safety.requireDryRun", message, remedy: "leave it true" })];
  },
  function somethingIsExcluded({ exclusions, ...spec }) {
    if (!enforces(spec) || exclusions.objectLock || exclusions.legalHold) return [];
    const message = "locked versions are tried to be deleted, and refused by the store one by one";
    return [warn({ path: "spec.exclusions", message, remedy: "leave objectLock and legalHold true" })];
  },
  function storeIsSpokenToInSecret({ s3: { endpoint } }) {
    if (endpoint?.startsWith("http://") !== true) return [];
    const message = "requests and object keys cross the network in the clear";
    return [warn({ path: "spec.s3.endpoint", message, remedy: "use an https endpoint" })];
  },
];

function enforces({ defaultMode, scopes }: Pick<ResolvedCleanupPolicySpec, "defaultMode" | "scopes">): boolean {
  return defaultMode === "Enforce" || scopes.some(({ mode }) => mode === "Enforce");
}
