import { beforeEach, describe, expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { StoreError } from "../store/port.ts";
import { CUTOFF, OLD, World } from "./testing.ts";
import type { CleanupRunner } from "./runner.ts";

let timers: ManualTimers;
let world: World;

beforeEach(() => {
  timers = new ManualTimers();
  world = new World(timers);
});

function putOld(scope: string, keys: number): void {
  for (let key = 0; key < keys; key += 1) world.store.put(`warehouses/${scope}/k${key}`, { at: OLD });
}

const unreachable = () => new StoreError("Unreachable", "nobody answers", { retryable: true });

/** Lets the deletes of a scope wait until it is let go. */
function holdDeletes(scope: string): { release: () => void; readonly waiting: () => number } {
  const held: (() => void)[] = [];
  let isOpen = false;
  world.store.faults.before = async ({ verb, versions = [] }) => {
    if (isOpen || verb !== "delete" || !versions[0]?.key.startsWith(`warehouses/${scope}/`)) return;
    await new Promise<void>((resolve) => held.push(resolve));
  };
  return {
    waiting: () => held.length,
    release: () => {
      isOpen = true;
      for (const resolve of held.splice(0)) resolve();
    },
  };
}

async function started(change: Parameters<World["runner"]>[0] = {}): Promise<CleanupRunner> {
  const runner = world.runner(change);
  runner.start();
  await timers.advance(0);
  return runner;
}

describe("which runs", () => {
  test("those that are not admitted, that only keep a record or that have ended are left alone", async () => {
    const { snapshot: _, ...notAdmitted } = world.addRun({ name: "x" }).status;
    world.records.edit("x", { status: notAdmitted });
    world.addRun({ name: "record", snapshot: { mode: "RecordOnly" } });
    world.addRun({ name: "ended", status: { phase: "Failed" } });
    const runner = await started();
    expect(world.store.calls).toEqual([]);
    expect(runner.idle).toBe(true);
    expect(world.status("x").lease).toBeUndefined();
  });

  test("the oldest first, one of a scope at a time, up to four scopes side by side", async () => {
    const order: string[] = [];
    world.records.faults.before = (run, { phase }) => {
      if (phase === "Running" && !order.includes(run.name)) order.push(run.name);
    };
    const held = holdDeletes("");
    world.store.faults.before = async ({ verb }) => {
      if (verb === "bucketState" && order.length < 5) await new Promise<void>((resolve) => releases.push(resolve));
    };
    const releases: (() => void)[] = [];
    const names = ["a2", "a1", "b", "c", "d", "e"];
    for (const [index, name] of names.entries())
      world.addRun({
        name,
        scope: name[0] ?? "",
        receivedAt: 1_000 - index,
        // A run that comes later may not have an older cutoff: it would be superseded.
        spec: { cutoff: new Date(CUTOFF - index).toISOString() },
      });
    const runner = await started();
    expect(order).toEqual(["e", "d", "c", "b"]);
    while (order.length < 5 || releases.length > 0) {
      for (const release of releases.splice(0)) release();
      await timers.advance(0);
    }
    await timers.advance(0);
    expect(order).toEqual(["e", "d", "c", "b", "a1", "a2"]);
    expect(held.waiting()).toBe(0);
    expect(runner.idle).toBe(true);
  });

  test("two of a scope are never carried out at the same time", async () => {
    putOld("wh-1", 4);
    const held = holdDeletes("wh-1");
    world.addRun({ name: "first", receivedAt: 1 });
    world.addRun({ name: "second", receivedAt: 2, spec: { cutoff: new Date(CUTOFF + 1).toISOString() } });
    await started();
    expect(world.status("first").phase).toBe("Running");
    expect(world.status("second").phase).toBe("Pending");
    held.release();
    await timers.advance(0);
    expect(world.status("second").phase).toBe("Succeeded");
  });

  test("a scope that fails takes no place while it waits, and others finish", async () => {
    putOld("bad", 3);
    world.store.faults.before = ({ prefix }) => {
      if (prefix === "warehouses/bad/") throw unreachable();
    };
    world.addRun({ name: "bad", scope: "bad", receivedAt: 0 });
    for (let at = 0; at < 10; at += 1) {
      putOld(`good-${at}`, 3);
      world.addRun({ name: `good-${at}`, scope: `good-${at}`, receivedAt: 10 });
    }
    const runner = await started({ concurrency: 1 });
    await timers.advance(2_000);
    for (let at = 0; at < 10; at += 1) expect(world.status(`good-${at}`).phase).toBe("Succeeded");
    expect(world.status("bad")).toMatchObject({ phase: "Pending", reason: "Unreachable", attempts: 1 });
    expect(runner.idle).toBe(false);
  });

  test("what is known of a run may lag behind: it is not carried out twice", async () => {
    putOld("wh-1", 3);
    const stale = world.addRun();
    const { records } = world;
    const runner = await started({
      records: {
        open: () => [stale],
        policy: () => records.policy(),
        onChange: (listener) => records.onChange(listener),
        write: (run, status) => records.write(run, status),
      },
    });
    await timers.advance(60_000);
    expect(world.status()).toMatchObject({ phase: "Succeeded", attempts: 1 });
    expect(runner.idle).toBe(true);
  });
});

describe("attempts", () => {
  test("that fail for now wait twice as long each time, and end the run when they made no progress", async () => {
    world.store.faults.before = ({ verb }) => {
      if (verb === "listVersions") throw unreachable();
    };
    world.addRun({ snapshot: { maxAttempts: 3 } });
    const begun: number[] = [];
    const before = timers.now();
    world.records.faults.before = (_run, { phase, attempts = 0 }) => {
      if (phase === "Running" && attempts > begun.length) begun.push(timers.now() - before);
    };
    await started();
    await timers.advance(60_000);
    expect(begun.map((ms) => Math.round(ms / 1_000))).toEqual([0, 6, 16]);
    expect(world.status()).toMatchObject({
      phase: "Failed",
      reason: "AttemptsExhausted",
      attempts: 3,
      attemptsWithoutProgress: 3,
      lastError: { reason: "Unreachable" },
    });
    expect(world.status().message).toContain("Unreachable");
  });

  test("that settle something more are not counted as without progress", async () => {
    putOld("wh-1", 10);
    // Each attempt deletes one version and fails at the next.
    let sent = 0;
    world.store.faults.before = ({ verb }) => {
      if (verb !== "delete") return;
      sent += 1;
      if (sent % 2 === 0) throw new Error("a mistake of ours");
    };
    world.addRun({ snapshot: { maxAttempts: 1, batchSize: 1 } });
    await started();
    await timers.advance(300_000);
    expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 10 }, attempts: 10 });
    expect(world.status().lastError).toMatchObject({ reason: "InternalError" });
  });

  test("that end with their process count as well", async () => {
    world.addRun({
      status: { attempts: 3, attemptsWithoutProgress: 3, phase: "Running" },
      snapshot: { maxAttempts: 3 },
    });
    await started();
    expect(world.status()).toMatchObject({ phase: "Failed", reason: "AttemptsExhausted" });
    expect(world.store.calls).toEqual([]);
  });

  test("are counted by how they ended", async () => {
    putOld("wh-1", 1);
    world.addRun();
    await started();
    const { values } = await world.metrics.cleanupAttempts.get();
    expect(values).toMatchObject([{ labels: { namespace: "team", policy: "policy", result: "completed" }, value: 1 }]);
    const objects = await world.metrics.cleanupObjects.get();
    expect(objects.values).toMatchObject([{ labels: { mode: "Enforce", outcome: "deleted" }, value: 1 }]);
    const batches = await world.metrics.cleanupBatchDuration.get();
    expect(batches.values.find(({ metricName }) => metricName?.endsWith("_count"))?.value).toBe(1);
  });

  test("to a store that cannot be opened are retried", async () => {
    world.addRun();
    await started({ storeOf: () => Promise.reject(unreachable()) });
    expect(world.status()).toMatchObject({ phase: "Pending", reason: "Unreachable" });
    expect(world.status().nextAttemptAt).toBe(new Date(timers.now() + 5_000).toISOString());
  });
});

describe("a run is ended", () => {
  test("as Rejected when a newer one of its scope has completed, without a look at the store", async () => {
    world.records.completed.set("wh-1", CUTOFF);
    world.addRun();
    world.addRun({ name: "dry", scope: "wh-1", snapshot: { mode: "DryRun" } });
    world.addRun({ name: "newer", scope: "wh-1", spec: { cutoff: new Date(CUTOFF + 1).toISOString() } });
    world.addRun({ name: "partly", status: { counters: { deleted: 3 } } });
    await started();
    expect(world.status()).toMatchObject({ phase: "Rejected", reason: "Superseded" });
    expect(world.status("partly")).toMatchObject({ phase: "Cancelled", reason: "Superseded" });
    expect(world.status("dry").phase).toBe("Succeeded");
    expect(world.status("newer").phase).toBe("Succeeded");
  });

  test("as Cancelled before the next batch", async () => {
    putOld("wh-1", 6);
    const held = holdDeletes("wh-1");
    world.addRun({ snapshot: { batchSize: 2 } });
    await started();
    expect(held.waiting()).toBe(1);
    world.records.edit("run-1", { spec: { ...world.records.run("run-1").spec, cancel: true } });
    held.release();
    await timers.advance(2_000);
    expect(world.status()).toMatchObject({ phase: "Cancelled", reason: "Cancelled" });
    expect(world.status().lease).toBeUndefined();
    expect(world.left()).toHaveLength(4);
    expect(world.calls("delete")).toBe(1);
  });

  test("as Cancelled when it was never begun", async () => {
    world.addRun({ spec: { cancel: true } });
    await started();
    expect(world.status()).toMatchObject({ phase: "Cancelled", finishedAt: expect.any(String) });
    expect(world.store.calls).toEqual([]);
  });

  test("when it takes longer than its deadline, under way or not", async () => {
    putOld("wh-1", 6);
    const held = holdDeletes("wh-1");
    world.addRun({ snapshot: { batchSize: 2, runDeadline: "1m" } });
    world.addRun({
      name: "waits",
      scope: "wh-2",
      snapshot: { runDeadline: "1m" },
      status: { nextAttemptAt: new Date(timers.now() + 3_600_000).toISOString() },
    });
    await started();
    await timers.advance(60_000);
    held.release();
    await timers.advance(0);
    expect(world.status()).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded", counters: { deleted: 2 } });
    expect(world.status("waits")).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(world.calls("delete")).toBe(1);
  });

  test.each([
    { snapshot: { prefix: "warehouses/wh-1" } },
    { snapshot: { prefix: "/" } },
    { snapshot: { runDeadline: "a day" } },
    { spec: { cutoff: "yesterday" } },
    { status: { admittedAt: "" } },
  ])("when its record can only be a mistake: %o", async (mistake) => {
    world.addRun(mistake);
    await started();
    expect(world.status()).toMatchObject({ phase: "Failed", reason: "SnapshotInvalid" });
    expect(world.store.calls).toEqual([]);
  });
});

describe("a run is put off, and it costs no attempt,", () => {
  test("when its policy is suspended, before the next batch", async () => {
    putOld("wh-1", 6);
    const held = holdDeletes("wh-1");
    world.addRun({ snapshot: { batchSize: 2 } });
    const runner = await started();
    world.records.suspended = true;
    world.records.changed();
    held.release();
    await timers.advance(60_000);
    expect(world.status()).toMatchObject({
      phase: "Pending",
      reason: "Suspended",
      attempts: 0,
      counters: { deleted: 2 },
    });
    expect(world.status().lease).toBeUndefined();
    expect(world.left()).toHaveLength(4);
    expect(runner.idle).toBe(false);
    world.records.suspended = false;
    world.records.changed();
    await timers.advance(0);
    expect(world.status()).toMatchObject({ phase: "Succeeded", attempts: 1, counters: { deleted: 6, listed: 6 } });
  });

  test("when its policy is gone: somebody else ends it", async () => {
    putOld("wh-1", 6);
    const held = holdDeletes("wh-1");
    world.addRun({ snapshot: { batchSize: 2 } });
    await started();
    world.records.hasPolicy = false;
    world.records.changed();
    held.release();
    await timers.advance(60_000);
    expect(world.status()).toMatchObject({ phase: "Pending", reason: "PolicyGone", attempts: 0 });
    expect(world.left()).toHaveLength(4);
  });

  test("when its process stops, which waits for the batch under way", async () => {
    putOld("wh-1", 6);
    const held = holdDeletes("wh-1");
    world.addRun({ snapshot: { batchSize: 2 } });
    const runner = await started();
    let isStopped = false;
    const stopped = runner.stop().then(() => (isStopped = true));
    await timers.advance(0);
    expect(isStopped).toBe(false);
    held.release();
    await timers.advance(0);
    await stopped;
    expect(world.status()).toMatchObject({
      phase: "Pending",
      reason: "Stopping",
      attempts: 0,
      counters: { deleted: 2 },
    });
    const next = await started();
    expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 6, listed: 6 } });
    expect(next.idle).toBe(true);
    expect(timers.pending).toBe(1);
    await next.stop();
    expect(timers.pending).toBe(0);
  });

  test("when its cleaner died while the policy is suspended", async () => {
    world.records.suspended = true;
    const lease = { holder: "dead", token: "t", renewedAt: new Date(timers.now()).toISOString() };
    world.addRun({ status: { phase: "Running", lease } });
    await started();
    expect(world.status().phase).toBe("Running");
    await timers.advance(30_000);
    expect(world.status()).toMatchObject({ phase: "Pending", reason: "Suspended" });
    expect(world.store.calls).toEqual([]);
  });
});

describe("the lease", () => {
  test("of somebody else is waited for until it stood still for 30 s, whatever its clock says", async () => {
    const lease = { holder: "other", token: "t", renewedAt: "2001-01-01T00:00:00.000Z" };
    world.addRun({ status: { phase: "Running", lease } });
    await started();
    await timers.advance(20_000);
    const renewed = { ...lease, renewedAt: "2001-01-01T00:00:08.000Z" };
    world.records.edit("run-1", { status: { ...world.status(), lease: renewed } });
    await timers.advance(29_999);
    expect(world.status().lease).toEqual(renewed);
    await timers.advance(1);
    expect(world.status().phase).toBe("Succeeded");
  });

  test("is renewed while nothing else is written", async () => {
    putOld("wh-1", 1);
    const held = holdDeletes("wh-1");
    world.addRun();
    await started();
    const renewals: string[] = [];
    world.records.faults.before = (_run, { lease }) => {
      renewals.push(lease?.renewedAt ?? "none");
    };
    await timers.advance(33_000);
    expect(renewals).toHaveLength(4);
    expect(world.status().phase).toBe("Running");
    held.release();
    await timers.advance(0);
    expect(world.status().phase).toBe("Succeeded");
  });

  test("that somebody else has taken ends the attempt before another delete", async () => {
    putOld("wh-1", 6);
    const held = holdDeletes("wh-1");
    world.addRun({ snapshot: { batchSize: 2 } });
    await started();
    const lease = { holder: "other", token: "t", renewedAt: "2001-01-01T00:00:00.000Z" };
    world.records.edit("run-1", { status: { ...world.status(), lease } });
    held.release();
    await timers.advance(20_000);
    expect(world.calls("delete")).toBe(1);
    expect(world.status().lease).toEqual(lease);
  });

  test("that cannot be renewed for 20 s ends the attempt, and the delete under way", async () => {
    putOld("wh-1", 6);
    const held = holdDeletes("wh-1");
    world.addRun({ snapshot: { batchSize: 2 } });
    await started();
    world.records.faults.before = () => {
      throw new Error("the API server does not answer");
    };
    await timers.advance(20_000);
    held.release();
    await timers.advance(0);
    expect(world.calls("delete")).toBe(1);
    const { values } = await world.metrics.cleanupAttempts.get();
    expect(values).toMatchObject([{ labels: { result: "lost" }, value: 1 }]);
    // It is this process's own: it goes on as soon as it can write.
    world.records.faults = {};
    await timers.advance(30_000);
    expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 6 - 2 + 2 } });
  });

  test("of a process that stood still is not used when it wakes", async () => {
    putOld("wh-1", 6);
    world.store.faults.after = ({ verb, nth }) => {
      if (verb === "delete" && nth === 1) timers.stall(25_000);
    };
    world.records.faults.before = (run, { lease }) => {
      if (timers.monotonic() < 25_000 || lease === undefined) return;
      // Meanwhile another process took it.
      if (run.status.lease?.holder === "cleaner-1" && world.status().lease?.holder === "cleaner-1")
        world.records.edit("run-1", {
          status: { ...world.status(), lease: { ...lease, holder: "other", token: "t" } },
        });
    };
    world.addRun({ snapshot: { batchSize: 2 } });
    await started();
    expect(world.calls("delete")).toBe(1);
  });

  test("that ran out while the next batch was made ready is not used for it", async () => {
    putOld("wh-1", 6);
    world.store.faults.after = ({ verb, nth }) => {
      // Asked for again before the second batch; then the process stands still.
      if (verb === "delete" && nth === 1) timers.stall(1_000);
      if (verb === "bucketState" && nth === 2) timers.stall(20_000);
    };
    world.addRun({ snapshot: { batchSize: 2 } });
    const deletes: string[] = [];
    world.store.faults.before = ({ verb }) => {
      if (verb === "delete") deletes.push(world.status().lease?.token ?? "none");
    };
    await started();
    await timers.advance(30_000);
    expect(deletes).toHaveLength(3);
    expect(new Set(deletes.slice(0, 1)).has(deletes[1] ?? "")).toBe(false);
    expect(world.status()).toMatchObject({ phase: "Succeeded", attempts: 2, counters: { deleted: 6 } });
  });

  test("that ran out is not renewed, though nobody took it: the run is taken anew", async () => {
    putOld("wh-1", 6);
    world.store.faults.after = ({ verb, nth }) => {
      if (verb === "delete" && nth === 1) timers.stall(25_000);
    };
    world.addRun({ snapshot: { batchSize: 2 } });
    await started();
    await timers.advance(30_000);
    expect(world.status()).toMatchObject({ phase: "Succeeded", attempts: 2 });
    expect(world.left()).toEqual([]);
  });

  test("is lost by a write that is never answered, and the place of its run is free", async () => {
    putOld("wh-1", 6);
    putOld("wh-2", 1);
    world.records.faults.before = async (run, { checkpoint }) => {
      if (run.name === "run-1" && checkpoint?.lastKey !== undefined) await new Promise(() => undefined);
    };
    world.addRun({ snapshot: { batchSize: 2 }, status: { checkpoint: { pass: "Delete", round: 1 } }, receivedAt: 0 });
    world.addRun({ name: "run-2", scope: "wh-2" });
    await started({ concurrency: 1 });
    expect(world.status("run-2").phase).toBe("Pending");
    world.records.suspended = true;
    await timers.advance(19_999);
    expect(world.calls("delete")).toBe(1);
    expect(world.status("run-2").phase).toBe("Pending");
    world.records.faults = {};
    world.records.suspended = false;
    await timers.advance(1);
    await timers.advance(10_000);
    expect(world.status("run-2").phase).toBe("Succeeded");
  });

  test("is kept through a write of which nobody knows whether it was made", async () => {
    putOld("wh-1", 6);
    let failures = 0;
    world.records.faults.after = () => {
      failures += 1;
      if (failures % 3 === 0) throw new Error("the answer was lost");
    };
    world.addRun({ snapshot: { batchSize: 2, maxAttempts: 100 } });
    await started();
    await timers.advance(600_000);
    expect(world.status().phase).toBe("Succeeded");
    expect(world.left()).toEqual([]);
  });
});
