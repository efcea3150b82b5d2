import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLEANUP_POLICIES, CLEANUP_RUNS, type PolicyObject } from "../../src/api/cleanup-resources.ts";
import { cleanupRunName } from "../../src/api/cleanup-run.ts";
import type { RunStart } from "../../src/api/run-start.ts";
import { kubeRunStarter } from "../../src/cleanup/run-starter.ts";
import { KubeRunView } from "../../src/cleanup/run-view.ts";
import { KubeApiError } from "../../src/kube/errors.ts";
import { clientOf, unique } from "../../src/kube/conformance/fixtures.ts";
import { NAMESPACES } from "../../src/kube/core-types.ts";
import { ManualTimers } from "../../src/lib/testing.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";

let fake: FakeApiServer;
beforeAll(async () => {
  fake = await startFakeApiServer([NAMESPACES, CLEANUP_POLICIES, CLEANUP_RUNS]);
});
afterAll(() => fake.stop());

const NAME = "expired-labels";
const SIGNAL = new AbortController().signal;
const SPEC = { s3: { bucket: "b" }, prefixTemplate: "warehouses/{scope}/" } as unknown as PolicyObject["spec"];

/** A namespace of the test's own with a policy, and what makes and finds runs there. */
async function setUp(instance = "default") {
  const client = clientOf(fake.auth());
  const namespace = fake.addNamespace(unique("cleanup"));
  const policies = client.resource(CLEANUP_POLICIES);
  const runs = client.resource(CLEANUP_RUNS);
  const makePolicy = (spec = SPEC) => policies.create({ metadata: { namespace, name: NAME }, spec });
  const timers = new ManualTimers();
  const start = kubeRunStarter({ client, instance });
  return {
    namespace,
    makePolicy,
    removePolicy: () => policies.delete({ namespace, name: NAME }),
    runs: async () => (await runs.list(namespace)).items,
    removeRun: (name: string) => runs.delete({ namespace, name }),
    start: (changes: Partial<RunStart> = {}) => start({ ...startOf(namespace), ...changes }, SIGNAL),
    view: new KubeRunView({ client, instance, timers }),
    timers,
  };
}

const startOf = (namespace: string): RunStart => ({
  namespace,
  policy: NAME,
  runId: "2026-W05/17",
  scope: "wh-17",
  cutoff: Date.UTC(2026, 0, 31, 1, 2, 3, 4),
  eventId: "01EVENT",
  receivedAt: Date.UTC(2026, 1, 1),
});

describe("making runs", () => {
  it("makes one under the name of policy and id, with what was asked for and nothing of its status", async () => {
    const { namespace, makePolicy, start, runs } = await setUp();
    const { uid } = (await makePolicy()).metadata;
    expect(await start()).toBe("created");
    const [run, ...others] = await runs();
    expect(others).toEqual([]);
    expect(run?.metadata).toMatchObject({
      name: cleanupRunName({ name: NAME, uid }, "2026-W05/17"),
      labels: { "davit.dev/cleanup-policy": NAME },
    });
    expect(run?.metadata.ownerReferences).toBeUndefined();
    expect(run?.spec).toEqual({
      instance: "default",
      policyRef: { name: NAME, uid },
      runId: "2026-W05/17",
      scope: "wh-17",
      cutoff: "2026-01-31T01:02:03.004Z",
      trigger: "Push",
      receivedAt: "2026-02-01T00:00:00.000Z",
      eventId: "01EVENT",
    });
    expect(run?.status).toBeUndefined();
    expect(namespace).toBe(run?.metadata.namespace);
  });

  it("makes one of many that ask at the same time, whichever event they come with", async () => {
    const { makePolicy, start, runs } = await setUp();
    await makePolicy();
    const asked = await Promise.all(Array.from({ length: 20 }, (_, n) => start({ eventId: `e-${n}`, receivedAt: n })));
    expect(asked.toSorted()).toEqual(["created", ...Array.from({ length: 19 }, () => "exists")]);
    expect(await runs()).toHaveLength(1);
  });

  it.each([{ scope: "wh-18" }, { cutoff: Date.UTC(2026, 0, 30) }])(
    "calls the same id that asks for something else a conflict, and leaves the run as it is: %j",
    async (change) => {
      const { makePolicy, start, runs } = await setUp();
      await makePolicy();
      await start();
      const before = await runs();
      expect(await start(change)).toBe("conflict");
      expect(await runs()).toEqual(before);
    },
  );

  it("makes none without a policy, nor for one of another release", async () => {
    const { makePolicy, removePolicy, start, runs } = await setUp();
    expect(await start()).toBe("noPolicy");
    await makePolicy({ ...SPEC, instance: "other" });
    expect(await start()).toBe("noPolicy");
    await removePolicy();
    expect(await runs()).toEqual([]);
  });

  it("goes by the policy that there is now: one made anew has runs of its own, at once", async () => {
    const { makePolicy, removePolicy, start, runs } = await setUp();
    await makePolicy();
    await start();
    await removePolicy();
    const { uid } = (await makePolicy()).metadata;
    expect(await start({ scope: "wh-18" })).toBe("created");
    const made = (await runs()).map(({ spec }) => `${spec.scope} ${spec.policyRef.uid === uid}`);
    expect(made.toSorted()).toEqual(["wh-17 false", "wh-18 true"]);
  });

  it("rejects when it may not, so that it is not known whether there is one", async () => {
    const { namespace } = await setUp();
    const start = kubeRunStarter({ client: clientOf(fake.strangerAuth()), instance: "default" });
    await expect(start(startOf(namespace), SIGNAL)).rejects.toBeInstanceOf(KubeApiError);
  });
});

describe("finding runs", () => {
  it("finds the run of a policy by its id, and tells a missing policy from a missing run", async () => {
    const { namespace, makePolicy, start, view } = await setUp();
    const ref = { namespace, policy: NAME, runId: "2026-W05/17" };
    expect(await view.find(ref)).toBe("noPolicy");
    await makePolicy();
    expect(await view.find(ref)).toBe("noRun");
    await start();
    expect(await view.find(ref)).toMatchObject({ spec: { runId: "2026-W05/17", scope: "wh-17" } });
    expect(await view.find({ ...ref, runId: "2026-W05/18" })).toBe("noRun");
  });

  it("shows nothing of another release's policies", async () => {
    const { namespace, makePolicy, view } = await setUp();
    await makePolicy({ ...SPEC, instance: "other" });
    expect(await view.find({ namespace, policy: NAME, runId: "r" })).toBe("noPolicy");
  });

  it("remembers a policy for 5 seconds and no longer", async () => {
    const { namespace, makePolicy, removePolicy, view, timers } = await setUp();
    const ref = { namespace, policy: NAME, runId: "r" };
    await makePolicy();
    expect(await view.find(ref)).toBe("noRun");
    await removePolicy();
    await timers.advance(4_999);
    expect(await view.find(ref)).toBe("noRun");
    await timers.advance(1);
    expect(await view.find(ref)).toBe("noPolicy");
  });
});
