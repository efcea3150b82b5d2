import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { KubeAuth } from "../auth.ts";
import { KubeClient } from "../client.ts";
import { CONFIG_MAPS, LEASES } from "../core-types.ts";
import { LeaderElector } from "../leader-elector.ts";
import { KubeTransport } from "../transport.ts";
import { clientOf, configMap, eventually, failsWith, testMetrics, unique, type ConformanceServer } from "./fixtures.ts";

const TIMES = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 100 };

/** Leader election, and the fence in front of a leader's writes. */
export function electionConformance(server: () => ConformanceServer): void {
  let client: KubeClient;
  let namespace: string;
  beforeEach(async () => {
    client = clientOf(server().auth);
    namespace = await server().namespace();
  });

  /** A candidate with connections of its own. */
  function candidate(identity: string, auth: KubeAuth = server().auth) {
    const transport = new KubeTransport({ auth, metrics: testMetrics() });
    const metrics = testMetrics();
    const own = new KubeClient(transport);
    const elector = new LeaderElector({ client: own, namespace, name: "leader", identity, metrics, ...TIMES });
    const stop = new AbortController();
    let leads = 0;
    const ended = elector
      .run(stop.signal, async (signal) => {
        leads += 1;
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      })
      .then(
        () => "ended",
        (error: unknown) => error,
      );
    onTestFinished(async () => {
      stop.abort();
      await ended;
      await transport.close();
    });
    return { elector, stop, ended, transport, client: own.fencedBy(elector), metrics, leads: () => leads };
  }
  const lease = () => client.resource(LEASES).get({ namespace, name: "leader" });

  test("of several candidates one leads, and the Lease says who", async () => {
    const all = ["a", "b", "c"].map((identity) => candidate(identity));
    await eventually(() => expect(all.filter(({ elector }) => elector.isLeader())).toHaveLength(1));
    const first = await lease();
    await eventually(async () => expect((await lease()).spec?.renewTime).not.toBe(first.spec?.renewTime));
    expect(all.filter(({ leads }) => leads() === 1)).toHaveLength(1);
    expect(all.filter(({ leads }) => leads() === 0)).toHaveLength(2);
    expect(first.spec).toMatchObject({ leaseDurationSeconds: 3, leaseTransitions: 0 });
  });

  test("a leader that stops lets the Lease go, and a successor takes it without waiting for its end", async () => {
    const first = candidate("a");
    await eventually(() => expect(first.elector.isLeader()).toBe(true));
    first.stop.abort();
    expect(await first.ended).toBe("ended");
    expect((await lease()).spec?.holderIdentity).toBe("");
    const second = candidate("b");
    await eventually(() => expect(second.elector.isLeader()).toBe(true));
    expect(first.elector.isLeader()).toBe(false);
  });

  test("a leader that is cut off stops writing before its successor starts", async () => {
    const first = candidate("a");
    await eventually(() => expect(first.elector.isLeader()).toBe(true));
    const second = candidate("b");
    await first.transport.close();
    await eventually(() => expect(first.elector.isLeader()).toBe(false));
    expect(second.elector.isLeader()).toBe(false);
    await eventually(() => expect(second.elector.isLeader()).toBe(true));
    expect(await first.ended).toMatchObject({ code: "LeadershipLost" });
    expect((await lease()).spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  });

  test("a leader whose Lease somebody else holds has lost it, and sends nothing more", async () => {
    const first = candidate("a");
    await eventually(() => expect(first.elector.isLeader()).toBe(true));
    await client.resource(LEASES).mergePatch({ namespace, name: "leader" }, { spec: { holderIdentity: "thief" } }, {});
    expect(await first.ended).toMatchObject({ code: "LeadershipLost" });
    await failsWith(first.client.resource(CONFIG_MAPS).create(configMap(namespace, "late")), "NotLeader");
    expect(await client.resource(CONFIG_MAPS).find({ namespace, name: "late" })).toBeUndefined();
    expect((await lease()).spec?.holderIdentity).toBe("thief");
  });

  test("a leader stays one when somebody only annotates its Lease", async () => {
    const first = candidate("a");
    await eventually(() => expect(first.elector.isLeader()).toBe(true));
    const { metadata } = await client
      .resource(LEASES)
      .mergePatch({ namespace, name: "leader" }, { metadata: { annotations: { seen: "yes" } } }, {});
    await eventually(async () => expect((await lease()).metadata.resourceVersion).not.toBe(metadata.resourceVersion));
    expect(first.elector.isLeader()).toBe(true);
    expect((await lease()).metadata.annotations).toEqual({ seen: "yes" });
  });

  test("writes need the leader; reads do not", async () => {
    const waiting = candidate("b", unreachable());
    await failsWith(waiting.client.resource(CONFIG_MAPS).create(configMap(namespace, "a")), "NotLeader");
    const first = candidate("a");
    await eventually(() => expect(first.elector.isLeader()).toBe(true));
    const created = await first.client.resource(CONFIG_MAPS).create(configMap(namespace, unique("a")));
    await expect(first.client.resource(CONFIG_MAPS).get(created.metadata)).resolves.toEqual(created);
  });

  test("the metric is 1 for who leads and 0 for who waits", async () => {
    const first = candidate("a");
    await eventually(() => expect(first.elector.isLeader()).toBe(true));
    const second = candidate("b");
    const value = async ({ metrics }: typeof first) => (await metrics.leaderElection.get()).values;
    expect(await value(first)).toEqual([{ labels: { name: "leader" }, value: 1 }]);
    expect(await value(second)).toEqual([{ labels: { name: "leader" }, value: 0 }]);
  });
}

const unreachable = (): KubeAuth => ({
  server: "http://127.0.0.1:1",
  credentials: () => Promise.resolve({ headers: {}, tls: {} }),
  refresh: () => undefined,
});
