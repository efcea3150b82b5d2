import { describe, expect, test } from "vitest";
import type { Live } from "../../kube/objects.ts";
import { createMetrics } from "../../observability/metrics.ts";
import { CleanupIndex } from "./cleanup-index.ts";
import { admitted, NOON, POLICY, runOf } from "./plan/testing.ts";
import { rfc3339 } from "./plan/views.ts";
import { showCleanup } from "./state-metrics.ts";
import type { PolicyObject, RunObject } from "../../api/cleanup-resources.ts";

/** A run as the API server has it. */
function live(id: string, version: number, fields: Pick<RunObject, "status"> = {}): Live<RunObject> {
  const { name, uid, spec } = runOf(id);
  const { status } = fields;
  const metadata = { namespace: "shop", name, uid, resourceVersion: `${version}`, creationTimestamp: rfc3339(NOON) };
  return { metadata, spec, ...(status && { status }) };
}

function policy(version: number, fields: Partial<Pick<PolicyObject, "spec" | "status">> = {}): Live<PolicyObject> {
  const { namespace, name, uid, spec } = POLICY;
  return { metadata: { namespace, name, uid, resourceVersion: `${version}`, generation: 1 }, spec, ...fields };
}

const KEY = "shop/expired";
const leased = (renewedAt: string, token = "t") => ({
  status: { ...admitted("Enforce", "Running"), lease: { holder: "pod", token, renewedAt } },
});

describe("the index", () => {
  test("tells since when a lease is as it is, by its own clock and whatever the lease says of the time", () => {
    let now = 1_000;
    const index = new CleanupIndex({ now: () => now });
    const seenAt = () => index.runsOf(KEY)[0]?.leaseSeenAt;
    index.putRun(live("r", 1));
    expect(seenAt()).toBeUndefined();
    index.putRun(live("r", 2, leased("2031-01-01T00:00:00Z")));
    now = 2_000;
    index.putRun(live("r", 3, leased("2031-01-01T00:00:00Z")));
    expect(seenAt()).toBe(1_000);
    index.putRun(live("r", 4, leased("2029-01-01T00:00:00Z")));
    expect(seenAt()).toBe(2_000);
    now = 3_000;
    index.putRun(live("r", 5, leased("2029-01-01T00:00:00Z", "another")));
    expect(seenAt()).toBe(3_000);
  });

  test("does not go back to what is older, and forgets what is gone", () => {
    const index = new CleanupIndex({ now: () => 0 });
    index.putRun(live("r", 10, { status: admitted("Enforce", "Succeeded") }));
    index.putRun(live("r", 9));
    expect(index.runsOf(KEY)[0]?.run.status?.phase).toBe("Succeeded");
    const { name } = runOf("r");
    index.removeRun(`shop/${name}`);
    expect([...index.keys()]).toEqual([]);
    index.putWrittenRun(live("r", 11));
    expect(index.runsOf(KEY)).toEqual([]);
    index.putPolicy(policy(5));
    index.removePolicy(KEY);
    index.putWrittenPolicy(policy(6));
    expect(index.policy(KEY)).toBeUndefined();
  });

  test("knows a policy that only runs speak of", () => {
    const index = new CleanupIndex({ now: () => 0 });
    index.putRun(live("r", 1));
    index.putPolicy(policy(2));
    expect([...index.keys()]).toEqual([KEY]);
    index.removePolicy(KEY);
    expect([...index.keys()]).toEqual([KEY]);
  });
});

describe("metrics", () => {
  const index = new CleanupIndex({ now: () => NOON });
  index.putPolicy(policy(1, { spec: { ...POLICY.spec, schedule: "@daily" }, status: { schedule: { missed: 3 } } }));
  index.putRun(live("waiting", 2));
  index.putRun(live("working", 3, { status: { ...admitted("Enforce", "Running"), startedAt: rfc3339(NOON + 5_000) } }));
  index.putRun(live("done", 4, { status: admitted("Enforce", "Succeeded", NOON - 60_000) }));

  async function shown(isLeader: boolean): Promise<string[]> {
    const metrics = createMetrics();
    showCleanup(index, metrics, { isLeader, now: NOON + 30_000 });
    const text = await metrics.registry.metrics();
    return text.split("\n").filter((line) => /^davit_cleanup_(run|schedule)/.test(line) && !line.endsWith(" 0"));
  }

  test("are counted from the caches, and ages at the scrape", async () => {
    const at = 'namespace="shop",policy="expired"';
    expect(await shown(true)).toEqual([
      `davit_cleanup_runs{${at},phase="Pending"} 1`,
      `davit_cleanup_runs{${at},phase="Running"} 1`,
      `davit_cleanup_runs{${at},phase="Succeeded"} 1`,
      `davit_cleanup_run_oldest_pending_age_seconds{${at}} 30`,
      `davit_cleanup_run_oldest_running_age_seconds{${at}} 25`,
      `davit_cleanup_run_last_success_timestamp_seconds{${at}} ${(NOON - 60_000) / 1_000}`,
      `davit_cleanup_schedule_missed_total{${at}} 3`,
    ]);
  });

  test("are shown by the leader only", async () => {
    expect(await shown(false)).toEqual([]);
  });
});
