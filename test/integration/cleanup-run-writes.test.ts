import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { CleanupIndex } from "../../src/controllers/cleanup-policy/cleanup-index.ts";
import type { CleanupContext } from "../../src/controllers/cleanup-policy/context.ts";
import type { NewRun } from "../../src/controllers/cleanup-policy/plan/schedule.ts";
import { admitted, NOON, POLICY, runOf } from "../../src/controllers/cleanup-policy/plan/testing.ts";
import { CleanupPolicyReconciler } from "../../src/controllers/cleanup-policy/reconciler.ts";
import { RunWrites } from "../../src/controllers/cleanup-policy/run-writes.ts";
import { CLEANUP_POLICIES, CLEANUP_RUNS, type PolicyObject, type RunObject } from "../../src/api/cleanup-resources.ts";
import { runView } from "../../src/controllers/cleanup-policy/object-views.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { NAMESPACES } from "../../src/kube/core-types.ts";
import { isConflict } from "../../src/kube/errors.ts";
import type { Live } from "../../src/kube/objects.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";

const { signal } = new AbortController();
let api: FakeApiServer;
let client: KubeClient;
let index: CleanupIndex;
let events: string[];
let metrics: ReturnType<typeof createMetrics>;
let spaces = 0;
let monotonic = 0;
let shop: string;

beforeAll(async () => {
  api = await startFakeApiServer([NAMESPACES, CLEANUP_POLICIES, CLEANUP_RUNS]);
});
afterAll(() => api.stop());
beforeEach(() => {
  shop = `shop-${(spaces += 1)}`;
  api.addNamespace(shop);
  client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: createMetrics() }));
  index = new CleanupIndex({ now: () => NOON });
  events = [];
  metrics = createMetrics();
});
afterEach(() => client.transport.close());

const context = () =>
  ({
    client,
    index,
    metrics,
    clock: { now: () => NOON, monotonic: () => monotonic },
    config: configSchema.parse({ redis: { urlFile: "/unused" } }),
    logger: createLogger("test", { level: "silent" }),
    events: {
      record: (_object: Live, { type, reason }: { type: string; reason: string }) => events.push(`${type} ${reason}`),
    },
    namespace: () => ({ metadata: { name: shop, uid: "u", resourceVersion: "1" } }),
    secrets: { read: async () => ({ state: "Synced", secrets: new Map() }) },
    children: { state: () => "Synced", want: () => undefined, get: () => undefined, ensure: async () => false },
    enqueue: () => undefined,
    isLeader: () => true,
  }) as unknown as CleanupContext;
const runs = () => client.resource(CLEANUP_RUNS);
const policy = (): Live<PolicyObject> => ({
  metadata: { namespace: shop, name: POLICY.name, uid: POLICY.uid, resourceVersion: "1" },
  spec: POLICY.spec,
});
const newRun = (runId: string, scope = "a"): NewRun => {
  const { name, spec } = runOf(runId, { scope });
  return { name, spec };
};

/** A run that the API server and the index have. */
async function known(runId: string): Promise<Live<RunObject>> {
  const { name, spec } = newRun(runId);
  const run = await runs().create({ metadata: { namespace: shop, name }, spec });
  index.putRun(run);
  return run;
}

async function conflicts(): Promise<number> {
  const { values } = await metrics.cleanupRunConflicts.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

test("a run is made with the policy's name as its label and nothing else of it, and making it again changes nothing", async () => {
  const writes = new RunWrites(context());
  await writes.create(policy(), [newRun("r")], signal);
  const [first] = (await runs().list(shop)).items;
  expect(first?.metadata).toMatchObject({ labels: { "davit.dev/cleanup-policy": "expired" } });
  expect(first?.metadata.ownerReferences).toBeUndefined();
  await writes.create(policy(), [newRun("r")], signal);
  expect((await runs().list(shop)).items).toEqual([first]);
  expect([await conflicts(), events]).toEqual([0, []]);
  expect(index.runsOf(`${shop}/expired`)).toHaveLength(1);
});

test("a run whose id somebody took for something else is told once and does not keep the others from being made", async () => {
  await runs().create({ metadata: { namespace: shop, name: newRun("r").name }, spec: newRun("r", "other").spec });
  await new RunWrites(context()).create(policy(), [newRun("r"), newRun("s")], signal);
  expect([await conflicts(), events]).toEqual([1, ["Warning RunConflict"]]);
  expect((await runs().list(shop)).items.map(({ spec }) => `${spec.runId} ${spec.scope}`).toSorted()).toEqual([
    "r other",
    "s a",
  ]);
});

test("a status goes only onto the version that was looked at; others are written all the same, and the conflict is told", async () => {
  const [one, two] = [await known("one"), await known("two")];
  const views = [one, two].map((run) => runView(run, undefined));
  await runs().mergePatch(one.metadata, { status: { phase: "Running" } }, {}, { subresource: "status" });
  const statuses = views.map((run) => ({ run, status: admitted("Enforce") }));
  const writing = new RunWrites(context()).statuses(shop, statuses, signal);
  await expect(writing).rejects.toSatisfy(isConflict);
  expect((await runs().get(one.metadata)).status).toEqual({ phase: "Running" });
  expect((await runs().get(two.metadata)).status?.snapshot?.mode).toBe("Enforce");
  expect(index.run(`${shop}/${two.metadata.name}`)?.status?.phase).toBe("Pending");
});

test("what changed in the index since the plan was made is not written over", async () => {
  const run = await known("r");
  const view = runView(run, undefined);
  const written = await runs().mergePatch(
    run.metadata,
    { status: { phase: "Running" } },
    {},
    { subresource: "status" },
  );
  index.putRun(written);
  await new RunWrites(context()).statuses(shop, [{ run: view, status: admitted("Enforce") }], signal);
  expect((await runs().get(run.metadata)).status).toEqual({ phase: "Running" });
});

test("a run is deleted only while it is the one that was looked at", async () => {
  const run = await known("r");
  const view = runView(run, undefined);
  await runs().delete(run.metadata);
  const { name, spec } = newRun("r");
  await runs().create({ metadata: { namespace: shop, name }, spec });
  await expect(new RunWrites(context()).prune(shop, [view], signal)).rejects.toSatisfy(isConflict);
  expect((await runs().list(shop)).items).toHaveLength(1);
});

test("runs are ended for want of their policy only when the API server itself says that it is gone", async () => {
  const reconciler = new CleanupPolicyReconciler(context());
  const look = () => reconciler.reconcile(`${shop}/expired`, signal);
  const live = await client.resource(CLEANUP_POLICIES).create({
    metadata: { namespace: shop, name: "expired" },
    spec: POLICY.spec,
  });
  const { name, spec } = newRun("r");
  const policyRef = { name: "expired", uid: live.metadata.uid };
  const run = await runs().create({ metadata: { namespace: shop, name }, spec: { ...spec, policyRef } });
  index.putRun(run);
  // The cache does not have the policy yet.
  expect(await look()).toEqual({ requeueAfterMs: 1_000 });
  expect((await runs().get(run.metadata)).status).toBeUndefined();
  await client.resource(CLEANUP_POLICIES).delete(live.metadata);
  await look();
  expect((await runs().get(run.metadata)).status).toMatchObject({ phase: "Rejected", reason: "PolicyGone" });
});

test("the status of a policy goes only onto the version that was looked at", async () => {
  const resource = client.resource(CLEANUP_POLICIES);
  const seen = await resource.create({ metadata: { namespace: shop, name: "expired" }, spec: POLICY.spec });
  index.putPolicy(seen);
  const scopes = [{ name: "kept" }];
  await resource.mergePatch(seen.metadata, { status: { scopes } }, {}, { subresource: "status" });
  const reconciler = new CleanupPolicyReconciler(context());
  await expect(reconciler.reconcile(`${shop}/expired`, signal)).rejects.toSatisfy(isConflict);
  expect((await resource.get(seen.metadata)).status).toEqual({ scopes });
  index.putPolicy(await resource.get(seen.metadata));
  await reconciler.reconcile(`${shop}/expired`, signal);
  expect((await resource.get(seen.metadata)).status).toMatchObject({ scopes, openRuns: 0 });
});

test("the status of a policy with very many scopes is written every ten seconds at most", async () => {
  const resource = client.resource(CLEANUP_POLICIES);
  const made = await resource.create({ metadata: { namespace: shop, name: "expired" }, spec: POLICY.spec });
  const scopes = Array.from({ length: 2_000 }, (_, n) => ({ name: `s${n}` }));
  index.putPolicy(await resource.mergePatch(made.metadata, { status: { scopes } }, {}, { subresource: "status" }));
  const reconciler = new CleanupPolicyReconciler(context());
  const look = async () => {
    await reconciler.reconcile(`${shop}/expired`, signal);
    return (await resource.get(made.metadata)).status?.lastRun?.phase;
  };
  expect(await look()).toBeUndefined();
  const policyRef = { name: "expired", uid: made.metadata.uid };
  const { name, spec } = newRun("r");
  index.putRun(
    await runs().create({ metadata: { namespace: shop, name }, spec: { ...spec, requestedMode: "DryRun", policyRef } }),
  );
  monotonic += 9_999;
  expect(await look()).toBeUndefined();
  monotonic += 1;
  expect(await look()).toBe("Rejected");
});

describe("what cannot be written does not keep the rest from being served", () => {
  const look = () => new CleanupPolicyReconciler(context()).reconcile(`${shop}/expired`, signal);

  /** A policy with a schedule that is due, and two runs that were pushed. */
  async function due(): Promise<{ readonly uid: string; readonly pushed: readonly Live<RunObject>[] }> {
    const spec = { ...POLICY.spec, schedule: "0 * * * *", expireAfter: "720h", scopes: [{ name: "s" }] };
    const resource = client.resource(CLEANUP_POLICIES);
    const made = await resource.create({ metadata: { namespace: shop, name: "expired" }, spec });
    const schedule = { lastAt: "2030-01-01T11:00:00Z", nextAt: "2030-01-01T12:00:00Z", missed: 0 };
    const status = { observedGeneration: made.metadata.generation ?? 1, schedule };
    index.putPolicy(await resource.mergePatch(made.metadata, { status }, {}, { subresource: "status" }));
    const { uid } = made.metadata;
    const push = async (runId: string) => {
      const run = newRun(runId);
      const policyRef = { name: "expired", uid };
      const metadata = { namespace: shop, name: run.name };
      return runs().create({ metadata, spec: { ...run.spec, policyRef, requestedMode: "DryRun" } });
    };
    const pushed = [await push("one"), await push("two")];
    for (const run of pushed) index.putRun(run);
    return { uid, pushed };
  }

  const isOpen = async ({ metadata }: Live<RunObject>) => (await runs().get(metadata)).status?.phase === undefined;

  test("scheduled runs that a quota forbids", async () => {
    const { pushed } = await due();
    const undo = api.faults.plan(
      { answer: 403, reason: "Forbidden" },
      ({ verb, plural, namespace }) => verb === "create" && plural === "cleanupruns" && namespace === shop,
      Number.POSITIVE_INFINITY,
    );
    await expect(look()).rejects.toMatchObject({ code: "Forbidden" });
    undo();
    for (const run of pushed) expect(await isOpen(run)).toBe(false);
    const resource = client.resource(CLEANUP_POLICIES);
    const seen = await resource.get({ namespace: shop, name: "expired" });
    expect(seen.status).toMatchObject({ schedule: { lastAt: "2030-01-01T11:00:00Z" }, conditions: expect.anything() });
    expect(events).not.toContain("Normal RunsScheduled");
    await look();
    expect((await resource.get(seen.metadata)).status?.schedule?.lastAt).toBe("2030-01-01T12:00:00Z");
    expect((await runs().list(shop)).items.map(({ spec }) => spec.trigger ?? "")).toContain("Schedule");
  });

  test("a run whose status is refused", async () => {
    const { pushed } = await due();
    const [poison, other] = pushed as [Live<RunObject>, Live<RunObject>];
    const undo = api.faults.plan(
      { answer: 422, reason: "Invalid" },
      ({ verb, namespace, name }) => verb === "patch" && namespace === shop && name === poison.metadata.name,
      Number.POSITIVE_INFINITY,
    );
    await expect(look()).rejects.toMatchObject({ code: "Invalid" });
    undo();
    expect([await isOpen(poison), await isOpen(other)]).toEqual([true, false]);
  });

  test("a run of a policy that is gone, whose status is refused", async () => {
    const { pushed } = await due();
    const orphan = newRun("orphan");
    const policyRef = { name: "expired", uid: "of-before" };
    const metadata = { namespace: shop, name: orphan.name };
    index.putRun(await runs().create({ metadata, spec: { ...orphan.spec, policyRef } }));
    const undo = api.faults.plan(
      { answer: 422, reason: "Invalid" },
      ({ verb, namespace, name }) => verb === "patch" && namespace === shop && name === orphan.name,
      Number.POSITIVE_INFINITY,
    );
    await expect(look()).rejects.toMatchObject({ code: "Invalid" });
    undo();
    for (const run of pushed) expect(await isOpen(run)).toBe(false);
  });
});
