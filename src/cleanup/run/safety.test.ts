import { beforeEach, describe, expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { sleep } from "../../lib/timers.ts";
import { StoreError } from "../store/port.ts";
import { planScope } from "./plan-scope.ts";
import { CUTOFF, OLD, snapshot, World, YOUNG } from "./testing.ts";

let timers: ManualTimers;
let world: World;
const PREFIX = "warehouses/wh-1/";

beforeEach(() => {
  timers = new ManualTimers();
  world = new World(timers);
});

async function run(forMs = 0): Promise<void> {
  const runner = world.runner();
  runner.start();
  await timers.advance(forMs);
  const stopped = runner.stop();
  await timers.advance(20_000);
  await stopped;
}

function putOld(keys: number): void {
  for (let key = 0; key < keys; key += 1) world.store.put(`${PREFIX}k${String(key).padStart(6, "0")}`, { at: OLD });
}

const EXCLUSIONS = snapshot().exclusions;

describe("a run that may not begin ends with its reason, and nothing is deleted", () => {
  const LIES = { entries: [], next: { key: `${PREFIX}k000000`, versionId: "x" } };
  const CASES: Readonly<Record<string, (store: World["store"]) => void>> = {
    VersioningNotEnabled: (store) => (store.versioning = "Unversioned"),
    VersioningSuspended: (store) => (store.versioning = "Suspended"),
    MFADeleteEnabled: (store) => (store.mfaDelete = true),
    ClockSkew: (store) => (store.skewMs = -300_001),
    LockRightsMissing: (store) => Object.assign(store, { objectLock: true, deniesLockRights: true }),
    InvalidListing: (store) => (store.faults.page = () => LIES),
    InvalidCredentials: refuses("InvalidCredentials"),
    BucketNotFound: refuses("BucketNotFound"),
    AccessDenied: refuses("AccessDenied"),
  };
  function refuses(code: "InvalidCredentials" | "BucketNotFound" | "AccessDenied") {
    return (store: World["store"]) => {
      store.faults.before = () => {
        throw new StoreError(code, "no", { retryable: false });
      };
    };
  }

  test.each(Object.entries(CASES))("%s", async (reason, arrange) => {
    putOld(5);
    arrange(world.store);
    world.addRun();
    world.addRun({ name: "dry", scope: "wh-1", snapshot: { mode: "DryRun" } });
    await run();
    for (const name of ["run-1", "dry"])
      expect(world.status(name)).toMatchObject({
        phase: "Failed",
        reason,
        lastError: { reason },
        attempts: 1,
        conditions: expect.arrayContaining([expect.objectContaining({ type: "Failed", status: "True", reason })]),
      });
    expect(world.calls("delete")).toBe(0);
    expect(world.left()).toHaveLength(5);
    const planned = await planScope({
      store: world.store,
      snapshot: snapshot(),
      cutoff: CUTOFF,
      signal: new AbortController().signal,
      timers,
    });
    expect(planned).toMatchObject({ type: "failed", reason, retryable: false });
  });
});

test("a bucket whose versioning is suspended during a run loses nothing more", async () => {
  putOld(20);
  world.store.faults.after = ({ verb, nth }) => {
    if (verb !== "delete" || nth !== 1) return;
    world.store.versioning = "Suspended";
    timers.stall(1_000);
  };
  world.addRun({ snapshot: { batchSize: 10 } });
  await run();
  expect(world.status()).toMatchObject({ phase: "Failed", reason: "VersioningSuspended", counters: { deleted: 10 } });
  expect(world.left()).toHaveLength(10);
});

test("the state of the bucket is asked for before a batch, at most once a second", async () => {
  putOld(50);
  world.store.faults.before = ({ verb }) => {
    if (verb === "delete") timers.stall(400);
  };
  world.addRun({ snapshot: { batchSize: 5 } });
  await run();
  // At the beginning, and before the batches at 1.2, 2.4 and 3.6 s.
  expect(world.calls("bucketState")).toBe(4);
});

describe("too many deletes", () => {
  test("are counted exactly when the listing alone shows too many, and then nothing is deleted", async () => {
    world.store.objectLock = true;
    putOld(10);
    world.store.put(`${PREFIX}held`, { at: OLD, legalHold: true });
    world.addRun({ name: "over", snapshot: { safety: { maxDeletesPerRun: 9, maxDeletePercent: 100 } } });
    await run();
    expect(world.status("over")).toMatchObject({
      phase: "Failed",
      reason: "TooManyDeletes",
      counters: { planned: 10, kept: 1, deleted: 0 },
      checkpoint: { pass: "Inspect" },
    });
    expect(world.calls("delete")).toBe(0);
    world.addRun({ name: "just", snapshot: { safety: { maxDeletesPerRun: 10, maxDeletePercent: 100 } } });
    await run();
    expect(world.status("just")).toMatchObject({ phase: "Succeeded", counters: { deleted: 10 } });
  });

  test("are a share of the versions listed as well", async () => {
    putOld(5);
    for (let key = 0; key < 5; key += 1) world.store.put(`${PREFIX}young${key}`, { at: YOUNG });
    world.addRun({ name: "over", snapshot: { safety: { maxDeletesPerRun: 100, maxDeletePercent: 49 } } });
    await run();
    expect(world.status("over")).toMatchObject({ phase: "Failed", reason: "TooManyDeletes" });
    world.addRun({ name: "just", snapshot: { safety: { maxDeletesPerRun: 100, maxDeletePercent: 50 } } });
    await run();
    expect(world.status("just")).toMatchObject({ phase: "Succeeded", counters: { listed: 10, deleted: 5 } });
  });

  test("are a remark of a dry run", async () => {
    putOld(5);
    world.addRun({ snapshot: { mode: "DryRun", safety: { maxDeletesPerRun: 4, maxDeletePercent: 100 } } });
    await run();
    expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { planned: 5 } });
    expect(world.status().message).toContain("TooManyDeletes: 5 deletes are over safety.maxDeletesPerRun, 4");
  });

  test("stop a run before the batch that would be over, whatever was counted before", async () => {
    putOld(30);
    const { counters } = { counters: { deleted: 15, planned: 15, listed: 15, expired: 15 } };
    world.addRun({
      snapshot: { batchSize: 10, safety: { maxDeletesPerRun: 30, maxDeletePercent: 100 } },
      status: { checkpoint: { pass: "Delete", round: 1 }, counters },
    });
    await run();
    expect(world.status()).toMatchObject({ phase: "Failed", reason: "TooManyDeletes", counters: { deleted: 25 } });
    expect(world.left()).toHaveLength(20);
  });
});

describe("verification", () => {
  test("deletes what it finds, at most three times", async () => {
    putOld(4);
    let late = 0;
    world.store.faults.after = ({ verb }) => {
      if (verb !== "delete" || late === 9) return;
      late += 1;
      world.store.put(`${PREFIX}a-late-${late}`, { at: OLD });
    };
    world.addRun();
    await run();
    expect(world.status()).toMatchObject({
      phase: "CompletedWithSkips",
      reason: "NotSettled",
      checkpoint: { pass: "Verify", round: 3 },
      counters: { deleted: 6, listed: 6, planned: 6, expired: 6 },
    });
    expect(world.left()).toHaveLength(1);
  });

  test("of a version that was protected during the pass and is free now deletes it in the next round", async () => {
    world.store.objectLock = true;
    putOld(4);
    const held = world.store.put(`${PREFIX}held`, { at: OLD, legalHold: true });
    world.store.faults.after = ({ verb, nth }) => {
      if (verb === "delete" && nth === 1)
        world.store.protect({ key: `${PREFIX}held`, versionId: held }, { legalHold: false });
    };
    world.addRun();
    await run();
    expect(world.left()).toEqual([]);
    expect(world.status()).toMatchObject({
      phase: "Succeeded",
      checkpoint: { pass: "Verify", round: 2 },
      counters: { listed: 5, deleted: 5, kept: 0 },
      reasons: {},
    });
  });

  test("does not try again what was refused, and what that held back", async () => {
    putOld(4);
    const older = world.store.put(`${PREFIX}two`, { at: OLD });
    world.store.put(`${PREFIX}two`, { at: OLD + 1 });
    world.store.faults.outcome = ({ versionId }) =>
      versionId === older ? { type: "refused", code: "AccessDenied", retryable: false } : undefined;
    world.addRun();
    await run();
    expect(world.status()).toMatchObject({ phase: "CompletedWithSkips", checkpoint: { pass: "Verify", round: 1 } });
    expect(world.calls("delete")).toBe(1);
  });
});

describe("what is known of a version", () => {
  test("is asked again when it is older than a minute before the delete, and what is held by then stays with all that is newer", async () => {
    world.store.objectLock = true;
    const versions = Array.from({ length: 8 }, (_, at) => world.store.put(`${PREFIX}k`, { at: OLD + at }));
    const sixth = { key: `${PREFIX}k`, versionId: versions[5] ?? "" };
    world.store.faults.before = ({ verb, nth }) => {
      if (verb !== "delete") return;
      if (nth === 1) world.store.protect(sixth, { legalHold: true });
      timers.stall(15_000);
    };
    // All eight are asked about at once, before the first is deleted; the lease is renewed by each checkpoint.
    world.addRun({ snapshot: { batchSize: 1 } });
    await run();
    expect(world.store.all().map(({ versionId }) => versionId)).toEqual(versions.slice(5).toReversed());
    expect(world.status()).toMatchObject({
      attempts: 1,
      phase: "Succeeded",
      counters: { listed: 8, deleted: 5, kept: 3 },
      reasons: { LegalHold: 1, ProtectedSibling: 2 },
    });
  });

  test("is asked again when a delete is repeated so late", async () => {
    world.store.objectLock = true;
    putOld(3);
    const [first] = world.store.all();
    world.store.faults.before = async ({ verb, nth }) => {
      if (verb !== "delete" || nth !== 1) return;
      await sleep(timers, 60_001);
      if (first !== undefined) world.store.protect(first, { legalHold: true });
      throw new StoreError("Timeout", "no answer", { retryable: true });
    };
    // A store that does not keep locks itself: nothing but the question saves the version.
    world.store.faults.outcome = ({ versionId }) => {
      if (versionId === first?.versionId) world.store.remove(first);
      return undefined;
    };
    world.addRun();
    await run(70_000);
    expect(world.left()).toHaveLength(1);
    expect(world.status()).toMatchObject({ phase: "Succeeded", attempts: 1, counters: { deleted: 2, kept: 1 } });
  });

  test("by manifests is read again when it is older than maxAge, and keys that are named by then stay", async () => {
    putOld(6);
    world.store.put("manifests/m", { at: OLD, body: "none" });
    const manifests = [{ prefix: "manifests/", keysFrom: "lines" }];
    world.store.faults.after = ({ verb, nth }) => {
      if (verb !== "delete" || nth !== 1) return;
      timers.stall(5_000);
      world.store.put("manifests/m", { body: `${PREFIX}k000004` });
    };
    world.addRun({ snapshot: { batchSize: 3, exclusions: { ...EXCLUSIONS, manifests, maxAge: "5s" } } });
    await run();
    expect(world.left().map((one) => one.split("@")[0])).toContain(`${PREFIX}k000004`);
    expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 5 }, reasons: { InManifest: 1 } });
  });
});

describe("manifests that cannot be read in full stop the run", () => {
  const manifests = [{ prefix: "manifests/wh-1/", keysFrom: "json:/files/*" }];
  const limited = { snapshot: { exclusions: { ...EXCLUSIONS, manifests } } };
  const CASES: Readonly<Record<string, (store: World["store"]) => void>> = {
    "there is none": () => undefined,
    "one is no JSON": (store) => store.put("manifests/wh-1/m", { body: "{" }),
    "one has no keys where they should be": (store) => store.put("manifests/wh-1/m", { body: '{"files":[1]}' }),
    "one is too large": (store) => store.put("manifests/wh-1/m", { body: `"${"x".repeat(9 * 2 ** 20)}"` }),
  };

  test.each(Object.entries(CASES))("%s", async (_, arrange) => {
    putOld(3);
    arrange(world.store);
    world.addRun(limited);
    await run();
    expect(world.status()).toMatchObject({ phase: "Failed", reason: "ManifestUnreadable" });
    expect(world.left().filter((one) => one.startsWith(PREFIX))).toHaveLength(3);
  });

  test("one that goes while they are read is looked for again by the next attempt", async () => {
    putOld(3);
    world.store.put("manifests/wh-1/a", { body: '{"files":[]}' });
    const gone = world.store.put("manifests/wh-1/b", { body: '{"files":[]}' });
    world.store.faults.before = ({ verb }) => {
      if (verb === "read") world.store.remove({ key: "manifests/wh-1/b", versionId: gone });
    };
    world.addRun(limited);
    await run(1_000);
    expect(world.status()).toMatchObject({ phase: "Pending", reason: "ManifestUnreadable" });
    await run(10_000);
    expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 3 } });
  });
});

test("a plan from elsewhere is the plan of a dry run, and has progress", async () => {
  putOld(1_200);
  const keys: string[] = [];
  const listed: number[] = [];
  const planned = await planScope({
    store: world.store,
    snapshot: snapshot({ mode: "RecordOnly", safety: { maxDeletesPerRun: 1_000, maxDeletePercent: 50 } }),
    cutoff: CUTOFF,
    signal: new AbortController().signal,
    timers,
    onPlanned: (entries) => keys.push(...entries.map(({ key }) => key)),
    onProgress: (counters) => listed.push(counters.listed ?? 0),
  });
  world.addRun({ snapshot: { mode: "DryRun" } });
  await run();
  expect(planned).toMatchObject({
    type: "planned",
    counters: { listed: 1_200, planned: 1_200 },
    planDigest: world.status().planDigest,
    tooManyDeletes: "1200 deletes are over safety.maxDeletesPerRun, 1000",
  });
  expect(keys).toHaveLength(1_200);
  expect(listed).toEqual([500, 1_000, 1_200]);
  expect(world.calls("delete")).toBe(0);
});

test("a plan may count first, which changes nothing of it", async () => {
  putOld(1_200);
  const seen: [string, number | undefined][] = [];
  const options = { store: world.store, snapshot: snapshot(), cutoff: CUTOFF, timers };
  const { signal } = new AbortController();
  const plain = await planScope({ ...options, signal });
  const onProgress = ({ listed }: { readonly listed?: number }, pass: string) => void seen.push([pass, listed]);
  const counted = await planScope({ ...options, signal, countFirst: true, onProgress });
  expect(counted).toEqual(plain);
  const [surveyed, inspected] = ["Survey", "Inspect"].map((pass) => seen.filter(([one]) => one === pass));
  expect(surveyed?.at(-1)).toEqual(["Survey", 1_200]);
  expect(inspected).toEqual([500, 1_000, 1_200].map((listed) => ["Inspect", listed]));
});

test("a plan that is given up says so", async () => {
  const plan = await planScope({
    store: world.store,
    snapshot: snapshot(),
    cutoff: CUTOFF,
    signal: AbortSignal.abort(new StoreError("Aborted", "given up", { retryable: true })),
    timers,
  });
  expect(plan).toMatchObject({ type: "failed", reason: "Aborted" });
});
