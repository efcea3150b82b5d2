import { expect, test } from "vitest";
import type { CleanupRunStatus } from "../../api/generated/cleanup-run.ts";
import { RecordConflictError, type RunRecord, type RunRecords } from "../records/port.ts";

/** What the owner of a policy and its controller do. */
export interface RecordsOwner {
  /** Makes a run that is admitted at once, as Enforce. @returns its name */
  admit(runId: string, scope: string, cutoff: string): Promise<string>;
  suspend(): Promise<void>;
  /** The policy is gone. */
  remove(): Promise<void>;
}

/** The records of one policy, as two processes have them. */
export interface RecordsFixture {
  readonly owner: RecordsOwner;
  readonly records: RunRecords;
  readonly others: RunRecords;
}

/** Makes a policy of its own for a test; whatever it opens goes with the test. */
export type OpenRecords = () => Promise<RecordsFixture>;

const CUTOFF = "2026-01-01T00:00:00.000Z";
const LEASE = { holder: "one", token: "t1", renewedAt: "2026-06-01T00:00:00Z" };

/** A run, once it is known and admitted. */
export async function found(records: RunRecords, name: string): Promise<RunRecord> {
  await expect.poll(() => named(records, name)?.status.snapshot?.mode, POLL).toBe("Enforce");
  const run = named(records, name);
  if (run === undefined) throw new Error(`run ${name} is gone again`);
  return run;
}

const POLL = { timeout: 20_000, interval: 5 };
const named = (records: RunRecords, name: string) => records.open().find((run) => run.name === name);
const running = ({ status }: RunRecord, change: CleanupRunStatus = {}): CleanupRunStatus => ({
  ...status,
  phase: "Running",
  lease: LEASE,
  ...change,
});
const succeeded = ({ status }: RunRecord): CleanupRunStatus => ({
  ...status,
  phase: "Succeeded",
  reason: "Completed",
  finishedAt: "2026-06-01T00:00:00Z",
});

/** What carrying runs out relies on of any records. */
export function recordsConformance(open: OpenRecords): void {
  test("a run that was admitted is open, until it is finished", async () => {
    const { owner, records } = await open();
    const run = await found(records, await owner.admit("r1", "a", CUTOFF));
    expect(run.spec).toMatchObject({ runId: "r1", scope: "a", cutoff: CUTOFF });
    expect(run.receivedAt).toBeLessThanOrEqual(Date.now());
    await records.write(run, succeeded(run));
    expect(named(records, run.name)).toBeUndefined();
  });

  test("what is written is known at once, and is what is written over next", async () => {
    const { owner, records } = await open();
    const run = await found(records, await owner.admit("r1", "a", CUTOFF));
    const first = await records.write(run, running(run));
    expect(named(records, run.name)).toMatchObject({ version: first.version, status: { lease: LEASE } });
    const second = await records.write(first, running(first, { checkpoint: { pass: "Delete", lastKey: "k" } }));
    expect(second.version).not.toBe(first.version);
    expect(named(records, run.name)?.status).toMatchObject({ phase: "Running", checkpoint: { lastKey: "k" } });
  });

  test("a status is written whole: what it leaves out is gone", async () => {
    const { owner, records, others } = await open();
    const run = await found(records, await owner.admit("r1", "a", CUTOFF));
    const held = await records.write(run, running(run));
    const { lease: _lease, ...released } = held.status;
    await records.write(held, { ...released, phase: "Pending" });
    expect(named(records, run.name)?.status.lease).toBeUndefined();
    await expect.poll(() => named(others, run.name)?.status.phase, POLL).toBe("Pending");
    expect(named(others, run.name)?.status.lease).toBeUndefined();
  });

  test("of two that write over the same record one is told, and its status is nowhere", async () => {
    const { owner, records, others } = await open();
    const name = await owner.admit("r1", "a", CUTOFF);
    const [mine, theirs] = [await found(records, name), await found(others, name)];
    await others.write(theirs, running(theirs, { lease: { ...LEASE, holder: "two" } }));
    const late = records.write(mine, running(mine));
    await expect(late).rejects.toThrow(RecordConflictError);
    await expect(late).rejects.toMatchObject({ code: "record_conflict" });
    await expect.poll(() => named(records, name)?.status.lease?.holder, POLL).toBe("two");
    expect(named(others, name)?.status.lease?.holder).toBe("two");
  });

  test("the cutoff of an Enforce run that is done counts for its scope from then on, for all", async () => {
    const { owner, records, others } = await open();
    const run = await found(records, await owner.admit("r1", "a", CUTOFF));
    expect(records.policy()?.completedCutoff("a")).toBeUndefined();
    await records.write(run, succeeded(run));
    expect(records.policy()?.completedCutoff("a")).toBe(Date.parse(CUTOFF));
    expect(records.policy()?.completedCutoff("b")).toBeUndefined();
    await expect.poll(() => others.policy()?.completedCutoff("a"), POLL).toBe(Date.parse(CUTOFF));
  });

  test("every change is told, until nobody wants to hear of any", async () => {
    const { owner, records, others } = await open();
    let [heard, deaf] = [0, 0];
    const stop = records.onChange(() => (heard += 1));
    records.onChange(() => (deaf += 1))();
    const name = await owner.admit("r1", "a", CUTOFF);
    const theirs = await found(others, name);
    await found(records, name);
    expect(heard).toBeGreaterThan(0);
    const before = heard;
    await others.write(theirs, running(theirs));
    await expect.poll(() => heard, POLL).toBeGreaterThan(before);
    stop();
    expect(deaf).toBe(0);
  });

  test("a policy is known with its suspension, and is known no more when it is gone", async () => {
    const { owner, records } = await open();
    const run = await found(records, await owner.admit("r1", "a", CUTOFF));
    expect(records.policy()).toMatchObject({ uid: run.spec.policyRef.uid, suspended: false });
    await owner.suspend();
    await expect.poll(() => records.policy()?.suspended, POLL).toBe(true);
    await owner.remove();
    await expect.poll(() => records.policy(), POLL).toBeUndefined();
  });
}
