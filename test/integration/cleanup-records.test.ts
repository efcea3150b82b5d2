import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CLEANUP_POLICIES, CLEANUP_RUNS } from "../../src/api/cleanup-resources.ts";
import { found, recordsConformance } from "../../src/cleanup/conformance/records.ts";
import { RecordConflictError, type RunRecord } from "../../src/cleanup/records/port.ts";
import { clientOf, unique } from "../../src/kube/conformance/fixtures.ts";
import { NAMESPACES } from "../../src/kube/core-types.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";
import { KubePolicy, openKubeRecords, reading } from "../support/kube-records.ts";
import { kubeRecordsConformance } from "../support/suites/kube-records-suite.ts";

// Runs on the fake API server, which passes what the real one passes (test/cluster/cleanup-records.test.ts) and can be harmed.
const CUTOFF = "2026-01-01T00:00:00.000Z";
let api: FakeApiServer;
const makePolicy = () => new KubePolicy(clientOf(api.auth()), api.addNamespace(unique("team"))).create();

beforeAll(async () => {
  api = await startFakeApiServer([NAMESPACES, CLEANUP_POLICIES, CLEANUP_RUNS]);
});
afterAll(() => api.stop());

describe("records on Kubernetes", () => {
  recordsConformance(async () => openKubeRecords(await makePolicy(), api.auth()));
  kubeRecordsConformance(async () => ({ policy: await makePolicy(), auth: api.auth() }));
});

describe("on an API server with faults", () => {
  let policy: KubePolicy;
  beforeEach(async () => {
    policy = await makePolicy();
  });
  const isStatus = ({ verb, plural }: { verb: string; plural: string }) =>
    verb === "update" && plural === "cleanupruns";
  const running = ({ status }: RunRecord, lastKey: string) =>
    ({ ...status, phase: "Running", checkpoint: { pass: "Delete", lastKey } }) as const;

  test("an older word of the watch does not bring an older record back", async () => {
    const records = reading(policy, api.auth());
    const run = await found(records, await policy.admit("r1", "a", CUTOFF));
    api.watches.silence();
    const first = await records.write(run, running(run, "first"));
    const second = await records.write(first, running(first, "second"));
    const seen: (string | undefined)[] = [];
    records.onChange(() => seen.push(records.open()[0]?.status.checkpoint?.lastKey));
    const watched = api.watchedFrom.length;
    api.watches.cut();
    await expect.poll(() => api.watchedFrom.length).toBeGreaterThan(watched);
    // Comes after both of what was missed.
    await policy.admit("r2", "b", CUTOFF);
    await expect.poll(() => records.open().length).toBe(2);
    expect(new Set(seen)).toEqual(new Set(["second"]));
    expect(records.open()[0]?.version).toBe(second.version);
  });

  test("a write that is refused for another reason than its version is no conflict, and changes nothing", async () => {
    const records = reading(policy, api.auth());
    const run = await found(records, await policy.admit("r1", "a", CUTOFF));
    const allow = api.forbid(isStatus);
    const refused = records.write(run, running(run, "k"));
    await expect(refused).rejects.toMatchObject({ code: "Forbidden" });
    await expect(refused).rejects.not.toBeInstanceOf(RecordConflictError);
    allow();
    expect(records.open()[0]).toBe(run);
    expect((await records.write(run, running(run, "k"))).status.checkpoint?.lastKey).toBe("k");
  });

  test("a write whose answer is lost is never taken for one that was not made", async () => {
    const records = reading(policy, api.auth());
    const run = await found(records, await policy.admit("r1", "a", CUTOFF));
    api.faults.plan({ cut: "after" }, isStatus);
    await expect(records.write(run, running(run, "k"))).rejects.toBeInstanceOf(Error);
    await expect.poll(() => records.open()[0]?.status.checkpoint?.lastKey).toBe("k");
    await expect(records.write(run, running(run, "again"))).rejects.toThrow(RecordConflictError);
    const now = await found(records, run.name);
    expect((await records.write(now, running(now, "on"))).status.checkpoint?.lastKey).toBe("on");
  });

  test("readiness tells what is refused, and what is not there", async () => {
    const missing = reading({ namespace: policy.namespace, name: "other" }, api.auth());
    await expect.poll(() => missing.readiness().problems.join()).toContain("there is no CleanupPolicy other");
    expect(missing.readiness().ok).toBe(false);
    const stranger = reading(policy, api.strangerAuth());
    await expect.poll(() => stranger.readiness().problems.join()).toContain("refuses to list them (Forbidden)");
    expect(stranger.readiness().ok).toBe(false);
  });

  test("readiness tells that the API server is away, and that it is back", async () => {
    const records = reading(policy, api.auth(), { idleMs: 200 });
    await expect.poll(() => records.readiness()).toEqual({ ok: true, problems: [] });
    api.freeze();
    await expect.poll(() => records.readiness().problems.join()).toContain("nothing heard from the API server");
    expect(records.readiness().ok).toBe(false);
    api.thaw();
    api.cut();
    await expect.poll(() => records.readiness().ok).toBe(true);
  });

  test("what a server has that was restored from a backup replaces what was known, however old its versions are", async () => {
    let restored = 0;
    const records = reading(policy, api.auth(), { idleMs: 200, onRestored: () => (restored += 1) });
    const name = await policy.admit("r1", "a", CUTOFF);
    const run = await found(records, name);
    const { resourceVersion } = (await policy.run(name)).metadata;
    const written = await records.write(run, running(run, "after the backup"));
    api.watches.silence();
    const stored = api.store.get({ ...CLEANUP_RUNS, namespace: policy.namespace, name, isStatus: false });
    Object.assign(stored, { status: { ...run.status, message: "of the backup" } });
    stored.metadata.resourceVersion = resourceVersion;
    api.store.version = Number(written.version) - 1;
    api.store.history.length = 0;
    await expect.poll(() => records.open()[0]?.status.message).toBe("of the backup");
    expect(records.open()[0]?.version).toBe(resourceVersion);
    expect(restored).toBe(1);
  });
});
