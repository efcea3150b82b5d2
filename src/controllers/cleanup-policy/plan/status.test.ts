import { describe, expect, test } from "vitest";
import { REASONS } from "../../../api/conditions.ts";
import type { CleanupRunStatus } from "../../../api/generated/cleanup-run.ts";
import { acceptedPolicyOf, admitted, DAY, HOUR, NOON, planOf, POLICY, runOf, S3, World } from "./testing.ts";
import { rfc3339, type RunView } from "./views.ts";

type Fields = Parameters<typeof planOf>[0];

/** `status/reason` of a condition. */
function condition(type: string, fields: Fields = {}): string | undefined {
  const found = planOf(fields).status?.conditions?.find((one) => one.type === type);
  return found === undefined ? undefined : `${found.status}/${found.reason}`;
}

const failed = (reason: string, at = NOON): CleanupRunStatus => ({
  ...admitted("Enforce", "Failed", at),
  reason,
  message: "why",
});
const erring = (reason: string, at: number): CleanupRunStatus => ({
  ...admitted("Enforce", "Pending", NOON - DAY),
  lastError: { reason, message: "why", at: rfc3339(at) },
});
const run = (id: string, status: CleanupRunStatus, trigger: "Manual" | "Push" = "Manual"): RunView =>
  runOf(id, { trigger }, status);

describe("the status of a policy", () => {
  test("says what it is to do, and what its runs do", () => {
    const runs = [run("a", admitted("Enforce", "Running")), run("b", admitted("DryRun", "Succeeded")), runOf("c")];
    expect(planOf({ runs }).status).toMatchObject({
      observedGeneration: 1,
      digest: "d1",
      maxAttempts: 5,
      openRuns: 2,
      lastRun: { name: run("b", {}).name, phase: "Succeeded", finishedAt: rfc3339(NOON) },
      scopes: [{ name: "a", verifiedDigest: "d1" }],
    });
  });

  test("does not change by itself, nor by a look", () => {
    const world = new World({}, {}, [run("a", admitted("DryRun", "Succeeded"))]);
    world.settle();
    for (const later of [1, HOUR, DAY, 90 * DAY]) expect(world.look(NOON + later).status).toBeUndefined();
  });

  test("keeps conditions that others write", () => {
    const other = { type: "Foreign", status: "True", reason: "Why", message: "", lastTransitionTime: rfc3339(NOON) };
    const policy = { ...POLICY, status: { conditions: [other as never] } };
    expect(condition("Foreign", { policy })).toBe("True/Why");
  });

  test("has reasons that are all in the list of reasons", () => {
    const refusal = { reason: "InvalidSpec", message: "why" } as const;
    const cases: Fields[] = [
      {},
      { accepted: undefined, refusal },
      { runs: [run("a", failed("BucketNotFound"))] },
      { runs: [run("a", failed("TooManyDeletes"))] },
      { policy: { ...POLICY, spec: { ...POLICY.spec, suspend: true, schedule: "@daily" } } },
      { unresolved: [{ reason: "SecretNotFound", message: "why" }] },
      { runs: [run("a", admitted("DryRun"), "Push"), run("b", admitted("DryRun"), "Push")] },
    ];
    for (const fields of cases) {
      for (const { reason } of planOf(fields).status?.conditions ?? []) expect(REASONS).toContain(reason);
    }
  });
});

describe("Ready", () => {
  test.each<[string, Fields, string, string]>([
    ["is true before any run", {}, "True/Reconciled", "False/AsExpected"],
    [
      "is false, and stalled, when the spec is refused",
      { accepted: undefined, refusal: { reason: "InvalidSpec", message: "why" } },
      "False/InvalidSpec",
      "True/InvalidSpec",
    ],
    [
      "is false while a Secret does not resolve",
      { unresolved: [{ reason: "SecretNotLabelled", message: "why" }] },
      "False/SecretNotLabelled",
      "False/AsExpected",
    ],
    [
      "is false while the store cannot be used",
      { runs: [run("a", failed("AccessDenied"))] },
      "False/AccessDenied",
      "False/AsExpected",
    ],
    [
      "is false, and stalled, when the cleaner does not start",
      { cleanerProblem: { reason: "RolloutStalled", message: "why" } },
      "False/RolloutStalled",
      "True/RolloutStalled",
    ],
    [
      "is true when a run failed for its own reasons",
      { runs: [run("a", failed("TooManyDeletes"))] },
      "True/Reconciled",
      "False/AsExpected",
    ],
    [
      "is true while it is suspended, and says so",
      { policy: { ...POLICY, spec: { ...POLICY.spec, suspend: true } } },
      "True/Suspended",
      "False/AsExpected",
    ],
  ])("%s", (_name, fields, ready, stalled) => {
    expect([condition("Ready", fields), condition("Stalled", fields)]).toEqual([ready, stalled]);
  });
});

describe("StoreReachable", () => {
  const reachable = (...runs: readonly RunView[]) => condition("StoreReachable", { runs });

  test("is unknown before any run has asked", () => {
    expect(reachable()).toBe("Unknown/NoRunYet");
    expect(reachable(runOf("a", { requestedMode: "RecordOnly" }))).toBe("Unknown/NoRunYet");
    expect(reachable(run("a", failed("TooManyDeletes")))).toBe("Unknown/NoRunYet");
  });

  test("is what the last attempt of any run says", () => {
    const good = run("good", admitted("DryRun", "Succeeded", NOON - 2 * HOUR));
    expect(reachable(good)).toBe("True/Reconciled");
    expect(reachable(good, run("bad", erring("Unreachable", NOON - HOUR)))).toBe("False/Unreachable");
    expect(reachable(good, run("bad", erring("Unreachable", NOON - 3 * HOUR)))).toBe("True/Reconciled");
    const recovered = { ...erring("SlowDown", NOON), ...admitted("Enforce", "Succeeded") };
    expect(reachable(run("same", recovered))).toBe("True/Reconciled");
  });

  test("names the store's reason of a run that gave up", () => {
    const gaveUp = { ...erring("ClockSkew", NOON - 1), phase: "Failed", reason: "TooManyAttempts" } as const;
    expect(reachable(run("a", gaveUp))).toBe("False/ClockSkew");
  });

  test("is not what runs say of the store that the policy named before", () => {
    const accepted = acceptedPolicyOf({ s3: { ...S3, bucket: "other" } });
    expect(condition("StoreReachable", { accepted, runs: [run("a", failed("BucketNotFound"))] })).toBe(
      "Unknown/NoRunYet",
    );
  });

  test("is unknown again when the policy names another store, and stays when the run is gone", () => {
    const world = new World({}, {}, [run("a", failed("BucketNotFound"))]);
    const now = () => world.policy.status?.conditions?.find(({ type }) => type === "StoreReachable")?.status;
    world.settle();
    world.runs = [];
    world.settle();
    expect(now()).toBe("False");
    world.accepted = acceptedPolicyOf({ digest: "d2", s3: { ...S3, bucket: "other" } });
    world.edit({});
    world.settle();
    expect(now()).toBe("Unknown");
  });
});

describe("LastRunSucceeded", () => {
  test("is of the last run that was carried out, and not of those that were refused or cancelled", () => {
    const of = (...runs: readonly RunView[]) => condition("LastRunSucceeded", { runs });
    const good = run("good", admitted("DryRun", "Succeeded", NOON - 2 * HOUR));
    expect(of()).toBe("Unknown/NoRunYet");
    expect(of(good, run("r", admitted("Enforce", "Rejected")))).toBe("True/Reconciled");
    expect(of(good, run("c", admitted("Enforce", "Cancelled")))).toBe("True/Reconciled");
    expect(of(good, run("f", failed("TooManyDeletes")))).toBe("False/RunFailed");
    expect(of(good, run("s", admitted("Enforce", "CompletedWithSkips")))).toBe("True/CompletedWithSkips");
  });
});

describe("Events", () => {
  test("tell what changed, once", () => {
    const world = new World({}, {}, [run("a", failed("BucketNotFound"))]);
    expect(world.look().events.map(({ reason }) => reason)).toEqual(["BucketNotFound", "RunFailed"]);
    expect(world.look().events).toEqual([]);
  });
});

describe("a cleaner", () => {
  const cleaner = (fields: Fields) => planOf(fields).cleaner;
  const open = run("a", admitted("DryRun"));

  test("is there while an admitted run is open, also one that is admitted just now", () => {
    expect(cleaner({ runs: [open] })).toBe(1);
    expect(cleaner({ runs: [runOf("a", { requestedMode: "DryRun" })] })).toBe(1);
    expect(cleaner({})).toBe(0);
  });

  test("is not there for a run that only keeps a record, or that is not admitted", () => {
    expect(cleaner({ runs: [runOf("a", { requestedMode: "RecordOnly" })] })).toBe(0);
    expect(cleaner({ runs: [runOf("a")], accepted: undefined })).toBe(0);
    expect(cleaner({ runs: [runOf("a")] })).toBe(0);
  });

  test("is there for a run under way although the policy is not accepted any more", () => {
    expect(cleaner({ runs: [open], accepted: undefined })).toBe(1);
  });

  test("goes at once when the policy is suspended, and is not there without its Secrets", () => {
    const policy = { ...POLICY, spec: { ...POLICY.spec, suspend: true } };
    expect(cleaner({ runs: [open], policy, hasCleaner: true })).toBe(0);
    expect(cleaner({ runs: [open], unresolved: [{ reason: "SecretNotFound", message: "" }] })).toBe(0);
  });

  test("stays a minute after the last run, and is not started for that", () => {
    const done = { runs: [run("a", admitted("DryRun", "Succeeded"))] };
    expect(planOf({ ...done, hasCleaner: true, now: NOON + 59_999 })).toMatchObject({
      cleaner: 1,
      nextLookAt: NOON + 60_000,
    });
    expect(cleaner({ ...done, hasCleaner: true, now: NOON + 60_000 })).toBe(0);
    expect(cleaner({ ...done, hasCleaner: false, now: NOON + 1 })).toBe(0);
  });
});
