import { expect, test } from "vitest";
import { found } from "../../../src/cleanup/conformance/records.ts";
import { RecordConflictError } from "../../../src/cleanup/records/port.ts";
import type { KubeAuth } from "../../../src/kube/auth.ts";
import { type KubePolicy, reading } from "../kube-records.ts";

/** A policy of its own, and what its cleaner may do. */
export type OpenKubePolicy = () => Promise<{ readonly policy: KubePolicy; readonly auth: KubeAuth }>;

const CUTOFF = "2026-01-01T00:00:00.000Z";
const LATER = "2026-02-01T00:00:00.000Z";

/** What runs on a Kubernetes API add to what all records do: on the fake API server and on a real one. */
export function kubeRecordsConformance(open: OpenKubePolicy): void {
  test("only the runs of this policy are open: of no other, and of no earlier one of its name", async () => {
    const { policy, auth } = await open();
    const records = reading(policy, auth);
    await policy.admit("r1", "a", CUTOFF, { policy: "other" });
    await policy.admit("r2", "a", CUTOFF, { uid: "00000000-0000-4000-8000-000000000000" });
    const mine = await found(records, await policy.admit("r3", "a", CUTOFF));
    expect(records.open()).toEqual([mine]);
  });

  test("a run was received when its push was, but never after it was made", async () => {
    const { policy, auth } = await open();
    const records = reading(policy, auth);
    const early = await found(records, await policy.admit("r1", "a", CUTOFF, { receivedAt: CUTOFF }));
    expect(early.receivedAt).toBe(Date.parse(CUTOFF));
    const future = await found(records, await policy.admit("r2", "a", CUTOFF, { receivedAt: "2999-01-01T00:00:00Z" }));
    expect(future.receivedAt).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test("what the policy's status says is completed counts, unless a run that is seen was of a later cutoff", async () => {
    const { policy, auth } = await open();
    const records = reading(policy, auth);
    await policy.complete("a", CUTOFF);
    await expect.poll(() => records.policy()?.completedCutoff("a")).toBe(Date.parse(CUTOFF));
    expect(records.policy()?.completedCutoff("b")).toBeUndefined();
    const run = await found(records, await policy.admit("r1", "a", LATER));
    await records.write(run, { ...run.status, phase: "CompletedWithSkips", reason: "RefusedByStore" });
    expect(records.policy()?.completedCutoff("a")).toBe(Date.parse(LATER));
    const failed = await found(records, await policy.admit("r2", "b", LATER));
    await records.write(failed, { ...failed.status, phase: "Failed", reason: "AccessDenied" });
    expect(records.policy()?.completedCutoff("b")).toBeUndefined();
  });

  test("a run that is gone, or was made anew under its name, is not written to", async () => {
    const { policy, auth } = await open();
    const records = reading(policy, auth);
    const run = await found(records, await policy.admit("r1", "a", CUTOFF));
    await policy.deleteRun(run.name);
    await expect(records.write(run, { ...run.status, phase: "Running" })).rejects.toThrow(RecordConflictError);
    await expect.poll(() => records.open()).toEqual([]);
    await policy.admit("r1", "a", CUTOFF);
    await expect(records.write(run, { ...run.status, phase: "Running" })).rejects.toThrow(RecordConflictError);
    const anew = await found(records, run.name);
    expect(anew.uid).not.toBe(run.uid);
    expect((await records.write(anew, { ...anew.status, phase: "Running" })).status.phase).toBe("Running");
  });

  test("a wish to cancel is seen, and the record that it outdates is not written over", async () => {
    const { policy, auth } = await open();
    const records = reading(policy, auth);
    const run = await found(records, await policy.admit("r1", "a", CUTOFF));
    await policy.cancel(run.name);
    await expect(records.write(run, { ...run.status, phase: "Running" })).rejects.toThrow(RecordConflictError);
    await expect.poll(() => records.open()[0]?.spec.cancel).toBe(true);
  });
}
