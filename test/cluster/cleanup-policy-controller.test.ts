import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CleanupRunStatus } from "../../src/api/generated/cleanup-run.ts";
import { cleanerName } from "../../src/api/names.ts";
import { CleanupPolicies } from "../support/cleanup-policies.ts";
import { sharedCluster } from "../support/cluster.ts";
import { becomes, settled } from "../support/operator/polling.ts";
import { ControllerRelease } from "../support/roles/controller-release.ts";
import type { RoleProcess } from "../support/roles/role-process.ts";

const cluster = sharedCluster();
let release: ControllerRelease;
let controller: RoleProcess;

beforeAll(async () => {
  release = await ControllerRelease.create(cluster);
  controller = await release.start();
});
afterAll(() => release.stop());

const USABLE = { "davit.dev/use": "true" };
const MINUTE = 60_000;
const DAY = 86_400_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

async function shop(): Promise<CleanupPolicies> {
  const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };
  return new CleanupPolicies(cluster, release.instance, await cluster.namespace("shop", restricted));
}

/** `spec.replicas` of a policy's cleaner; -1 while there is none. */
async function cleaner({ namespace }: CleanupPolicies, policy: string): Promise<number> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${cleanerName(release.instance, policy)}`;
  const { status, body } = await cluster.admin.request("GET", path);
  return status === 200 ? (body["spec"].replicas as number) : -1;
}

/** Names of the service accounts of the Pods of cleaners. */
async function pods({ namespace }: CleanupPolicies): Promise<string[]> {
  const found = await cluster.admin.list(
    `/api/v1/namespaces/${namespace}/pods?labelSelector=davit.dev/component=cleaner`,
  );
  return found.map((pod) => pod["spec"].serviceAccountName as string);
}

/** What a cleaner writes of a run that it has carried out. */
function ended(phase: "Succeeded" | "Failed", more: CleanupRunStatus = {}): CleanupRunStatus {
  return { phase, reason: "Done", finishedAt: ago(2 * MINUTE), ...more };
}

describe("a pushed run", () => {
  test("is admitted with what the policy says, which nothing changes any more, and its cleaner is there until it has ended", async () => {
    const policies = await shop();
    await policies.create("expired", { batchSize: 50 });
    await becomes(() => policies.condition("expired"), "True/Reconciled");
    await becomes(() => cleaner(policies, "expired"), 0);
    const name = await policies.push("expired", "r1");
    await becomes(() => policies.phase(name), "Pending/Admitted");
    await becomes(() => cleaner(policies, "expired"), 1);
    await becomes(() => pods(policies), [cleanerName(release.instance, "expired")]);
    const { snapshot } = (await policies.run(name)).status;
    expect(snapshot).toMatchObject({ prefix: "warehouses/a/", mode: "Enforce", batchSize: 50 });
    await policies.patch("expired", { spec: { batchSize: 10, defaultMode: "RecordOnly" } });
    const generation = async () => (await policies.status("expired")).observedGeneration;
    await becomes(generation, 2);
    expect((await policies.run(name)).status.snapshot).toEqual(snapshot);
    expect(await policies.writeRun(name, { snapshot: { ...snapshot, batchSize: 10 } } as CleanupRunStatus)).toBe(422);
    expect(await policies.writeRun(name, ended("Succeeded"))).toBe(200);
    await becomes(() => cleaner(policies, "expired"), 0);
    await becomes(async () => (await policies.status("expired")).openRuns, 0);
    expect(await policies.writeRun(name, { phase: "Pending" })).toBe(422);
  });

  test("cannot be made twice, and once it has deleted, not even after its record is gone", async () => {
    const policies = await shop();
    await policies.create("expired");
    const cutoff = ago(20 * DAY);
    const name = await policies.push("expired", "once", { cutoff });
    await becomes(() => policies.phase(name), "Pending/Admitted");
    await expect(policies.push("expired", "once", { cutoff })).rejects.toMatchObject({ status: 409 });
    await policies.writeRun(name, ended("Succeeded"));
    const known = async () => (await policies.status("expired")).scopes;
    await becomes(known, [expect.objectContaining({ name: "a", lastCutoff: cutoff, lastRunId: "once" })]);
    await policies.deleteRun(name);
    expect(await policies.push("expired", "once", { cutoff })).toBe(name);
    await becomes(() => policies.phase(name), "Rejected/Superseded");
    expect((await policies.run(name)).status).not.toHaveProperty("snapshot");
    // The record of the refusal adds nothing, and takes nothing away.
    expect(await known()).toMatchObject([{ name: "a", lastCutoff: cutoff, lastRunId: "once" }]);
    const newer = await policies.push("expired", "next", { cutoff: ago(19 * DAY) });
    await becomes(() => policies.phase(newer), "Pending/Admitted");
  });

  test("is refused for good when its cutoff cannot be meant, and may do no more than its scope", async () => {
    const policies = await shop();
    await policies.create("expired", {
      scopes: [
        { name: "look", mode: "DryRun" },
        { name: "note", mode: "RecordOnly" },
      ],
      safety: {},
    });
    const cases: readonly [spec: Parameters<CleanupPolicies["push"]>[2], expected: string][] = [
      [{ cutoff: ago(-DAY) }, "Rejected/CutoffInFuture"],
      [{ cutoff: ago(-DAY), receivedAt: ago(-3 * DAY) }, "Rejected/CutoffInFuture"],
      [{ cutoff: ago(MINUTE) }, "Rejected/CutoffTooYoung"],
      [{}, "Rejected/DryRunRequired"],
      [{ requestedMode: "DryRun" }, "Pending/Admitted"],
      [{ scope: "look", requestedMode: "Enforce" }, "Pending/Admitted"],
      [{ scope: "note", requestedMode: "Enforce" }, "Succeeded/RecordOnly"],
    ];
    const names: string[] = [];
    for (const [n, [spec]] of cases.entries()) names.push(await policies.push("expired", `r${n}`, spec));
    const phases = async () => Promise.all(names.map((name) => policies.phase(name)));
    await becomes(
      phases,
      cases.map(([, expected]) => expected),
    );
    const modes = await Promise.all(
      names.slice(4).map(async (name) => (await policies.run(name)).status.snapshot?.mode),
    );
    expect(modes).toEqual(["DryRun", "DryRun", "RecordOnly"]);
  });

  test("may delete once a dry run of its scope has completed under the same policy", async () => {
    const policies = await shop();
    await policies.create("expired", { safety: {} });
    const dry = await policies.push("expired", "dry", { requestedMode: "DryRun" });
    await becomes(() => policies.phase(dry), "Pending/Admitted");
    await policies.writeRun(dry, ended("Succeeded"));
    const verified = async () => (await policies.status("expired")).scopes?.[0]?.verifiedDigest;
    await becomes(verified, (await policies.status("expired")).digest);
    const first = await policies.push("expired", "first");
    await becomes(() => policies.phase(first), "Pending/Admitted");
    await policies.patch("expired", { spec: { exclusions: { legalHold: false } } });
    const before = (await policies.run(first)).status.snapshot?.digest;
    await becomes(async () => (await policies.status("expired")).digest !== before, true);
    const second = await policies.push("expired", "second");
    await becomes(() => policies.phase(second), "Rejected/DryRunRequired");
  });
});

describe("a policy", () => {
  test("that is suspended admits nothing and has no cleaner, and goes on where it was", async () => {
    const policies = await shop();
    await policies.create("expired");
    const first = await policies.push("expired", "first");
    await becomes(() => cleaner(policies, "expired"), 1);
    await policies.patch("expired", { spec: { suspend: true } });
    await becomes(() => cleaner(policies, "expired"), 0);
    await becomes(() => policies.condition("expired"), "True/Suspended");
    const second = await policies.push("expired", "second");
    await becomes(() => policies.phase(second), "Pending/Suspended");
    await policies.patch("expired", { spec: { suspend: false } });
    await becomes(() => policies.phase(second), "Pending/Admitted");
    await becomes(() => cleaner(policies, "expired"), 1);
    expect(await policies.phase(first)).toBe("Pending/Admitted");
  });

  test("that lacks its Secret, or may not use it, says so and has no cleaner until it may", async () => {
    const policies = await shop();
    const { namespace } = policies;
    await policies.create("expired", { s3: { bucket: "lake", credentialsSecretRef: { name: "s3" } } });
    const name = await policies.push("expired", "r1");
    await becomes(() => policies.condition("expired", "SecretsResolved"), "False/SecretNotFound");
    const values = { accessKeyId: "id", secretAccessKey: "secret" };
    await release.secret(namespace, "s3", values);
    await becomes(() => policies.condition("expired"), "False/SecretNotLabelled");
    await becomes(() => policies.phase(name), "Pending/Admitted");
    expect(await cleaner(policies, "expired")).toBe(0);
    await cluster.admin.patch(`/api/v1/namespaces/${namespace}/secrets/s3`, { metadata: { labels: USABLE } });
    await becomes(() => cleaner(policies, "expired"), 1);
    await becomes(() => policies.condition("expired"), "True/Reconciled");
  });

  test("that is deleted leaves its runs, ended, and takes its cleaner along; a successor of its name has nothing to do with them", async () => {
    const policies = await shop();
    await policies.create("expired");
    const admitted = await policies.push("expired", "admitted");
    await becomes(() => policies.phase(admitted), "Pending/Admitted");
    await policies.delete("expired");
    await becomes(() => policies.phase(admitted), "Cancelled/PolicyGone");
    await becomes(() => cleaner(policies, "expired"), -1);
    await policies.create("expired");
    const { spec } = await policies.run(admitted);
    const stray = await policies.push("expired", "stray", { policyRef: spec.policyRef });
    await becomes(() => policies.phase(stray), "Rejected/PolicyGone");
    const fresh = await policies.push("expired", "fresh");
    await becomes(() => policies.phase(fresh), "Pending/Admitted");
    await becomes(async () => (await policies.status("expired")).openRuns, 1);
  });

  test("of another instance is left alone, and so are its runs", async () => {
    const policies = await shop();
    await policies.create("theirs", { instance: "another" });
    const name = await policies.push("theirs", "r1", { instance: "another" });
    await policies.create("ours");
    await becomes(() => policies.condition("ours"), "True/Reconciled");
    expect(await settled(async () => [await policies.status("theirs"), await policies.phase(name)])).toEqual([{}, ""]);
  });

  test("has its cleaner made again when somebody deletes or changes it", async () => {
    const policies = await shop();
    const { namespace } = policies;
    await policies.create("expired");
    await becomes(() => cleaner(policies, "expired"), 0);
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${cleanerName(release.instance, "expired")}`;
    await cluster.admin.patch(path, { spec: { replicas: 3 } });
    await becomes(() => cleaner(policies, "expired"), 0);
    await cluster.admin.delete(path);
    await becomes(() => cleaner(policies, "expired"), 0);
  });

  test("whose cleaner cannot start says so, until it can", async () => {
    const policies = await shop();
    await policies.create("expired", { cleaner: { serviceAccountName: "s3-user" } });
    await policies.push("expired", "r1");
    await becomes(() => policies.condition("expired"), "False/RolloutStalled");
    expect(await policies.condition("expired", "CleanerAvailable")).toBe("False/RolloutStalled");
    await cluster.admin.create(`/api/v1/namespaces/${policies.namespace}/serviceaccounts`, {
      metadata: { name: "s3-user" },
    });
    await becomes(() => policies.condition("expired"), "True/Reconciled");
    expect(await pods(policies)).toEqual(["s3-user"]);
  });

  test("that names a service account later has the cleaner's own one removed, and the rights bound to its", async () => {
    const policies = await shop();
    const own = cleanerName(release.instance, "expired");
    const get = (group: string, plural: string) =>
      cluster.admin.request("GET", `/${group}/namespaces/${policies.namespace}/${plural}/${own}`);
    const serviceAccount = async () => (await get("api/v1", "serviceaccounts")).status;
    await policies.create("expired");
    await becomes(() => cleaner(policies, "expired"), 0);
    expect(await serviceAccount()).toBe(200);
    await policies.patch("expired", { spec: { cleaner: { serviceAccountName: "s3-user" } } });
    await becomes(serviceAccount, 404);
    const { body } = await get("apis/rbac.authorization.k8s.io/v1", "rolebindings");
    expect(body["subjects"]).toMatchObject([{ kind: "ServiceAccount", name: "s3-user" }]);
  });

  test("has a run ended when it is cancelled and nobody works on it", async () => {
    const policies = await shop();
    await policies.create("expired", { suspend: true });
    const name = await policies.push("expired", "r1");
    await becomes(() => policies.phase(name), "Pending/Suspended");
    await policies.cancel(name);
    await becomes(() => policies.phase(name), "Cancelled/Cancelled");
  });
});

describe("a route that starts runs", () => {
  test("says that the policy it names is missing, and is ready once it is there", async () => {
    const policies = await shop();
    const { namespace } = policies;
    await release.secret(namespace, "push", { secret: "the producer's" });
    await release.route(namespace, "pushes", {
      verification: { provider: "queue-push" },
      secretRefs: [{ name: "push", key: "secret" }],
      destinations: [{ name: "cleanup", cleanup: { policyRef: { name: "expired" } } }],
    });
    const condition = () => release.condition(namespace, "pushes", "DestinationsResolved");
    await becomes(condition, "False/CleanupPolicyNotFound");
    // Its events are taken all the same.
    expect(await release.entry(namespace, "pushes")).toMatchObject({ suspend: "None" });
    await policies.create("expired");
    await becomes(condition, "True/Reconciled");
    await policies.delete("expired");
    await becomes(condition, "False/CleanupPolicyNotFound");
  });
});

describe("a cleaner's service account", () => {
  test("may write what becomes of runs, and neither make nor delete them, nor read Secrets", async () => {
    const policies = await shop();
    const { namespace } = policies;
    await policies.create("expired");
    await becomes(() => cleaner(policies, "expired"), 0);
    const user = `system:serviceaccount:${namespace}:${cleanerName(release.instance, "expired")}`;
    const may = async (verb: string, resource: string, name?: string, group = "davit.dev") => {
      const [plural, subresource] = resource.split("/");
      const attributes = { namespace, verb, group, resource: plural, subresource, name };
      const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };
      const spec = { user, resourceAttributes: attributes };
      const answer = await cluster.admin.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        ...review,
        metadata: { name: "" },
        spec,
      });
      return (answer["status"] as { allowed: boolean }).allowed;
    };
    expect(await may("patch", "cleanupruns/status")).toBe(true);
    expect(await may("list", "cleanupruns")).toBe(true);
    expect(await may("get", "cleanuppolicies", "expired")).toBe(true);
    expect(await may("get", "cleanuppolicies", "another")).toBe(false);
    for (const verb of ["create", "delete", "patch", "update"]) expect(await may(verb, "cleanupruns")).toBe(false);
    expect(await may("get", "secrets", "s3", "")).toBe(false);
    expect(await may("patch", "cleanuppolicies/status", "expired")).toBe(false);
  });
});

describe("metrics", () => {
  test("count the runs of a policy by phase", async () => {
    const policies = await shop();
    await policies.create("expired");
    const name = await policies.push("expired", "r1");
    await becomes(() => policies.phase(name), "Pending/Admitted");
    const labels = `namespace="${policies.namespace}",policy="expired"`;
    const lines = async () => (await (await fetch(`${controller.admin}/metrics`)).text()).split("\n");
    expect(await lines()).toContain(`davit_cleanup_runs{${labels},phase="Pending"} 1`);
    await policies.writeRun(name, ended("Failed"));
    await becomes(
      async () => (await lines()).includes(`davit_cleanup_run_duration_seconds_count{${labels},phase="Failed"} 1`),
      true,
    );
  });
});

describe("a schedule", () => {
  test("catches up once after a downtime of the controller, and makes nothing twice when it starts anew", async () => {
    const policies = await shop();
    await policies.create("nightly", {
      schedule: "*/10 * * * *",
      expireAfter: "720h",
      scopes: [{ name: "a" }, { name: "b" }],
    });
    const schedule = async () => (await policies.status("nightly")).schedule;
    await becomes(schedule, expect.objectContaining({ missed: 0 }));
    expect(await policies.runs()).toEqual([]);
    await controller.end("SIGTERM");
    const lastAt = Math.floor((Date.now() - 45 * MINUTE) / (10 * MINUTE)) * 10 * MINUTE;
    const at = (ms: number) => new Date(ms).toISOString().replace(".000", "");
    await policies.writeStatus("nightly", {
      schedule: { lastAt: at(lastAt), nextAt: at(lastAt + 10 * MINUTE), missed: 0 },
    });
    controller = await release.start();
    const scopes = async () => (await policies.runs()).map(({ scope }) => scope).toSorted();
    await becomes(scopes, ["a", "b"]);
    await becomes(async () => ((await schedule())?.missed ?? 0) > 2, true);
    const runs = await policies.runs();
    const [{ receivedAt = "", cutoff } = { cutoff: "" }] = runs;
    expect(Date.parse(receivedAt) - Date.parse(cutoff)).toBe(30 * DAY);
    expect(Date.now() - Date.parse(receivedAt)).toBeLessThan(11 * MINUTE);
    expect(await schedule()).toMatchObject({ lastAt: receivedAt });
    // As after a crash between the runs and the status.
    await policies.writeStatus("nightly", { schedule: { lastAt: at(lastAt), nextAt: at(lastAt + 10 * MINUTE) } });
    await becomes(async () => (await schedule())?.lastAt !== at(lastAt), true);
    expect(await settled(scopes)).toEqual(["a", "b"]);
  });
});

describe("a release with rights in some namespaces only", () => {
  test("says of a policy elsewhere what to do, and lets its runs wait until it may work there", async () => {
    const [enabled, other] = await Promise.all([cluster.namespace("shop"), cluster.namespace("shop")]);
    const rbac = { scope: "Namespaces", namespaces: [enabled] };
    const limited = await ControllerRelease.create(cluster, { rbac }, { rbac });
    try {
      await limited.start();
      const [ours, theirs] = [enabled, other].map((one) => new CleanupPolicies(cluster, limited.instance, one)) as [
        CleanupPolicies,
        CleanupPolicies,
      ];
      await Promise.all([ours.create("expired"), theirs.create("expired")]);
      const names = [await ours.push("expired", "r1"), await theirs.push("expired", "r1")] as const;
      await becomes(() => ours.phase(names[0]), "Pending/Admitted");
      await becomes(() => theirs.condition("expired", "Accepted"), "False/NamespaceNotEnabled");
      await becomes(() => theirs.phase(names[1]), "Pending/PolicyNotAccepted");
      expect((await theirs.run(names[1])).status.message).toContain("kubectl create rolebinding");
    } finally {
      await limited.stop();
    }
  });
});
