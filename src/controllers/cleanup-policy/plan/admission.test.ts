import { describe, expect, test } from "vitest";
import type { CleanupRunSpec } from "../../../api/generated/cleanup-run.ts";
import { MOST_ADMITTED, PROOF_MS } from "./admission.ts";
import { MAX_SCOPES } from "./scopes.ts";
import {
  acceptedPolicyOf,
  admitted,
  capped,
  DAY,
  HOUR,
  NOON,
  planOf,
  POLICY,
  runOf,
  said,
  snapshotOf,
  World,
} from "./testing.ts";
import { rfc3339 } from "./views.ts";

const PROVEN = { name: "a", verifiedDigest: "d1", verifiedAt: rfc3339(NOON - DAY) };
const known = (scope: object = PROVEN) => ({ ...POLICY, status: { scopes: [{ name: "a", ...scope }] } });

/** What becomes of one run of scope a. */
function verdict(spec: Partial<CleanupRunSpec> = {}, fields: Parameters<typeof planOf>[0] = {}): string | undefined {
  return said(planOf({ policy: known(), runs: [runOf("r", spec)], ...fields }).statuses)[0]?.slice(2);
}

describe("a run is", () => {
  test.each<[string, Partial<CleanupRunSpec>, Parameters<typeof planOf>[0], string]>([
    ["admitted when nothing speaks against it", {}, {}, "Pending/Admitted"],
    ["rejected when its cutoff is after its receipt", { cutoff: rfc3339(NOON + 1) }, {}, "Rejected/CutoffInFuture"],
    ["rejected when its cutoff is no time", { cutoff: "2029-12-01T00:00:00" }, {}, "Rejected/InvalidCutoff"],
    ["rejected a ms within minAge", { cutoff: rfc3339(NOON - DAY + 1) }, {}, "Rejected/CutoffTooYoung"],
    ["admitted at minAge", { cutoff: rfc3339(NOON - DAY) }, {}, "Pending/Admitted"],
    [
      "rejected when the policy is not accepted and the cutoff is in the future",
      { cutoff: rfc3339(NOON + 1) },
      { accepted: undefined, refusal: { reason: "InvalidSpec", message: "why" } },
      "Rejected/CutoffInFuture",
    ],
    [
      "left pending while the policy is not accepted",
      {},
      { accepted: undefined, refusal: { reason: "InvalidSpec", message: "why" } },
      "Pending/PolicyNotAccepted",
    ],
    [
      "rejected when its cutoff is the one that was completed",
      { cutoff: rfc3339(NOON - 10 * DAY) },
      { policy: known({ ...PROVEN, lastCutoff: rfc3339(NOON - 10 * DAY), lastRunId: "before" }) },
      "Rejected/Superseded",
    ],
    [
      "admitted when its cutoff is a ms newer than the one that was completed",
      { cutoff: rfc3339(NOON - 10 * DAY + 1) },
      { policy: known({ ...PROVEN, lastCutoff: rfc3339(NOON - 10 * DAY), lastRunId: "before" }) },
      "Pending/Admitted",
    ],
    [
      "admitted to look again at what was completed",
      { requestedMode: "DryRun" },
      { policy: known({ ...PROVEN, lastCutoff: rfc3339(NOON), lastRunId: "before" }) },
      "Pending/Admitted",
    ],
    [
      "left pending while the policy is suspended",
      {},
      { policy: { ...known(), spec: { ...POLICY.spec, suspend: true } } },
      "Pending/Suspended",
    ],
    [
      "rejected although the policy is suspended, for what holds for ever",
      {},
      {
        policy: {
          ...known({ ...PROVEN, lastCutoff: rfc3339(NOON) }),
          spec: { ...POLICY.spec, suspend: true },
        },
      },
      "Rejected/Superseded",
    ],
    ["rejected without a dry run before it", {}, { policy: POLICY }, "Rejected/DryRunRequired"],
    ["rejected when the dry run was of another scope", { scope: "b" }, {}, "Rejected/DryRunRequired"],
    [
      "rejected when the dry run was of a policy that said something else",
      {},
      { accepted: acceptedPolicyOf({ digest: "d2" }) },
      "Rejected/DryRunRequired",
    ],
    [
      "admitted with a dry run of 30 days ago",
      {},
      { policy: known({ ...PROVEN, verifiedAt: rfc3339(NOON - PROOF_MS) }) },
      "Pending/Admitted",
    ],
    [
      "rejected with a dry run of more than 30 days ago",
      {},
      { policy: known({ ...PROVEN, verifiedAt: rfc3339(NOON - PROOF_MS - 1) }) },
      "Rejected/DryRunRequired",
    ],
    [
      "admitted without a dry run where none is required",
      {},
      { policy: POLICY, accepted: acceptedPolicyOf({ requireDryRun: false }) },
      "Pending/Admitted",
    ],
    ["admitted without a dry run to be one", { requestedMode: "DryRun" }, { policy: POLICY }, "Pending/Admitted"],
    [
      "finished at once when it only keeps a record",
      { requestedMode: "RecordOnly" },
      { policy: POLICY },
      "Succeeded/RecordOnly",
    ],
    [
      "finished at once when its scope only keeps records, whatever it asks for",
      { requestedMode: "Enforce" },
      { accepted: acceptedPolicyOf({ modeOf: capped("RecordOnly") }) },
      "Succeeded/RecordOnly",
    ],
    ["cancelled when that was asked before anybody looked", { cancel: true }, {}, "Cancelled/Cancelled"],
  ])("%s", (_name, spec, fields, expected) => {
    expect(verdict(spec, fields)).toBe(expected);
  });

  test("admitted with what the policy says now, and with its mode", () => {
    const accepted = acceptedPolicyOf({ modeOf: capped("DryRun") });
    const [write] = planOf({ runs: [runOf("r", { requestedMode: "Enforce" })], accepted }).statuses;
    expect(write?.status).toMatchObject({
      phase: "Pending",
      snapshot: snapshotOf("DryRun"),
      admittedAt: rfc3339(NOON),
      attempts: 0,
      observedGeneration: 1,
    });
    expect(write?.status.conditions).toContainEqual(expect.objectContaining({ type: "Reconciling", status: "True" }));
    expect(write?.status).not.toHaveProperty("finishedAt");
  });

  test("rejected for good, with its reason in an Event and in its conditions", () => {
    const [write] = planOf({ runs: [runOf("r", { cutoff: rfc3339(NOON + 1) })] }).statuses;
    expect(write?.status).toMatchObject({ finishedAt: rfc3339(NOON) });
    expect(write?.status).not.toHaveProperty("snapshot");
    expect(write?.event).toMatchObject({ type: "Warning", reason: "CutoffInFuture" });
    expect(write?.status.conditions).toContainEqual(
      expect.objectContaining({ type: "Failed", status: "True", reason: "CutoffInFuture" }),
    );
  });

  test("told once what it waits for", () => {
    const refusal = { reason: "InvalidSpec", message: "x".repeat(2_000) } as const;
    const world = new World({}, {}, [runOf("r")]);
    world.accepted = undefined;
    const look = () => planOf({ policy: world.policy, runs: world.runs, refusal, accepted: undefined });
    for (const { run, status } of look().statuses) world.set(run.spec.runId, status);
    expect(world.run("r")?.status?.phase).toBe("Pending");
    expect(look().statuses).toEqual([]);
    world.accepted = acceptedPolicyOf({ requireDryRun: false });
    world.settle();
    expect(world.run("r")?.status).toMatchObject({ reason: "Admitted", snapshot: snapshotOf("Enforce") });
  });

  test("not admitted a second time, whatever the policy says by then", () => {
    const world = new World({}, { requireDryRun: false }, [runOf("r")]);
    world.settle();
    const before = world.run("r")?.status;
    world.accepted = acceptedPolicyOf({ digest: "d2", modeOf: capped("RecordOnly"), minAgeMs: 100 * DAY });
    world.edit({ batchSize: 3 });
    world.settle();
    expect(world.run("r")?.status).toBe(before);
  });
});

describe("the receipt of a run", () => {
  test("is never later than its creation, so that nobody can make a cutoff older than it is", () => {
    const late = { receivedAt: rfc3339(NOON + 10 * DAY), cutoff: rfc3339(NOON + 8 * DAY) };
    const run = { ...runOf("r", late), createdAt: NOON };
    expect(said(planOf({ policy: known(), runs: [run], now: NOON + 20 * DAY }).statuses)).toEqual([
      "r Rejected/CutoffInFuture",
    ]);
  });

  test("decides, not the time of the look: a run that waited is not admitted for that", () => {
    const young = runOf("r", { cutoff: rfc3339(NOON - HOUR) });
    expect(said(planOf({ policy: known(), runs: [young], now: NOON + 20 * DAY }).statuses)).toEqual([
      "r Rejected/CutoffTooYoung",
    ]);
  });

  test("is in the order in which runs are admitted", () => {
    const runs = [3, 1, 2].map((n) => runOf(`r${n}`, { scope: `s${n}`, receivedAt: rfc3339(NOON + n) }));
    const accepted = acceptedPolicyOf({ requireDryRun: false });
    expect(planOf({ runs, accepted }).statuses.map(({ run }) => run.spec.runId)).toEqual(["r1", "r2", "r3"]);
  });
});

describe("the scopes that a policy has room for", () => {
  const scopes = Array.from({ length: MAX_SCOPES }, (_, n) => ({ name: `s${n}`, verifiedDigest: "d1" }));
  const full = { ...POLICY, status: { scopes } };
  const accepted = acceptedPolicyOf({ requireDryRun: false });

  test("refuse a run of another scope when all are taken, but not one that only keeps a record", () => {
    const runs = [runOf("new"), runOf("old", { scope: "s7" }), runOf("record", { requestedMode: "RecordOnly" })];
    expect(said(planOf({ policy: full, runs, accepted }).statuses).toSorted()).toEqual([
      "new Rejected/TooManyScopes",
      "old Pending/Admitted",
      "record Succeeded/RecordOnly",
    ]);
  });

  test("count those that admitted runs are going to need, so that what a run completes is never left out", () => {
    const policy = { ...POLICY, status: { scopes: scopes.slice(2) } };
    const runs = [
      runOf("under-way", { scope: "x" }, admitted("Enforce", "Running")),
      ...["y", "y", "z"].map((scope, n) => runOf(`r${n}`, { scope, receivedAt: rfc3339(NOON + n) })),
    ];
    expect(said(planOf({ policy, runs, accepted }).statuses)).toEqual([
      "r0 Pending/Admitted",
      "r1 Pending/Admitted",
      "r2 Rejected/TooManyScopes",
    ]);
  });
});

test("very many runs are admitted over several looks", () => {
  const runs = Array.from({ length: MOST_ADMITTED + 3 }, (_, n) => runOf(`r${n}`));
  const world = new World({}, { requireDryRun: false }, runs);
  const first = world.look();
  expect(first.statuses).toHaveLength(MOST_ADMITTED);
  expect(first.nextLookAt).toBe(NOON);
  expect(world.look().statuses).toHaveLength(3);
});
