import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { davit, endDev, Workspace } from "../support/dev-process.ts";
import { makeBucket, type TestBucket } from "../support/object-store/bucket.ts";
import { nameOf } from "../support/object-store/carry-out.ts";
import { sharedObjectStore } from "../support/object-store/shared.ts";

// examples/cleanup as its README walks through it, with a bucket of this test's in its manifests.

const PREFIX = "warehouses/wh-17/";
const workspace = new Workspace();
let bucket: TestBucket;
let cutoff: string;

const text = (file: string) =>
  readFileSync(fileURLToPath(new URL(`../../examples/cleanup/${file}`, import.meta.url)), "utf8");

function write(mode: "DryRun" | "Enforce"): void {
  const { endpoint = "", bucket: name } = bucket.s3;
  const { accessKeyId, secretAccessKey } = sharedObjectStore();
  const all = ["policy.yaml", "route.yaml", "secrets.yaml"].map(text).join("---\n");
  workspace.write(
    all
      .replace("http://127.0.0.1:9000", endpoint)
      .replace("warehouse-data", name)
      .replace("mode: DryRun", `mode: ${mode}`)
      .replace("accessKeyId: test,", `accessKeyId: ${accessKeyId},`)
      .replace("secretAccessKey: testtesttest", `secretAccessKey: ${secretAccessKey}`),
  );
}

beforeAll(async () => {
  bucket = await makeBucket(sharedObjectStore());
});
afterAll(() => workspace.remove());

const push = (runId: string, before: string) =>
  davit(
    "send",
    "--route",
    "expired-labels",
    "--data-dir",
    workspace.data,
    "--data",
    JSON.stringify({ run_id: runId, warehouse_id: "wh-17", expired_before: before }),
  );

/** What the run resource says, as its caller asks. */
async function run(runId: string): Promise<Record<string, unknown>> {
  const { api } = workspace.state();
  const path = `/v1/namespaces/warehouse/cleanup-policies/expired-labels/runs/${runId}`;
  const answer = await fetch(`${api?.url}${path}`, { headers: { authorization: `Bearer ${api?.token}` } });
  return (await answer.json()) as Record<string, unknown>;
}
const phase = async (runId: string) => {
  const { phase: now, reason } = await run(runId);
  return `${String(now)}/${String(reason)}`;
};
const left = async () => (await bucket.all()).map(nameOf);

test("a push is planned, then carried out, once; what is protected or newer stays; an older cutoff is superseded", async () => {
  await bucket.putAll(["a", "a", "b"].map((key) => `${PREFIX}${key}`));
  const dispute = {
    key: `${PREFIX}c`,
    versionId: await bucket.put(`${PREFIX}c`, { tags: [{ key: "dispute", value: "1" }] }),
  };
  const config = { key: `${PREFIX}config/x`, versionId: await bucket.put(`${PREFIX}config/x`) };
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  cutoff = new Date().toISOString();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const young = { key: `${PREFIX}b`, versionId: await bucket.put(`${PREFIX}b`) };
  const before = await left();

  write("DryRun");
  let dev = await workspace.dev();
  expect(await push("r1", cutoff)).toMatchObject({ code: 0 });
  await expect.poll(() => phase("r1"), { timeout: 30_000 }).toBe("Succeeded/Completed");
  expect(await run("r1")).toMatchObject({ mode: "DryRun", counters: { planned: 3, deleted: 0, kept: 2 } });
  expect(await left()).toEqual(before);

  write("Enforce");
  const edits = () => dev.program.stderr().split("holds as written now").length - 1;
  await expect.poll(edits, { timeout: 30_000 }).toBe(2);
  expect(await push("r2", cutoff)).toMatchObject({ code: 0 });
  await expect.poll(() => phase("r2"), { timeout: 30_000 }).toBe("Succeeded/Completed");
  expect(await run("r2")).toMatchObject({ mode: "Enforce", counters: { deleted: 3, kept: 2 } });
  const digests = [await run("r1"), await run("r2")].map(({ planDigest }) => planDigest);
  expect(digests[0]).toBe(digests[1]);
  expect(new Set(await left())).toEqual(new Set([young, dispute, config].map(nameOf)));

  // What runs there were survives a restart.
  expect(await endDev(dev)).toMatchObject({ code: 0 });
  dev = await workspace.dev();
  expect(await phase("r2")).toBe("Succeeded/Completed");
  expect(await push("r2", cutoff)).toMatchObject({ code: 0 });
  expect(await push("r3", cutoff)).toMatchObject({ code: 0 });
  await expect.poll(() => phase("r3"), { timeout: 30_000 }).toBe("Rejected/Superseded");
  expect(await push("r3", new Date(Date.parse(cutoff) - 1_000).toISOString())).toMatchObject({ code: 0 });
  await expect.poll(() => dev.program.stderr(), { timeout: 30_000 }).toContain("RunConflict");
  expect(await endDev(dev)).toMatchObject({ code: 0 });
}, 180_000);

test("a push without what a run needs is refused by the field, and nothing comes of it", async () => {
  write("DryRun");
  const dev = await workspace.dev();
  const { code, stdout, stderr } = await push("r4", "yesterday");
  expect([code, stdout + stderr]).toEqual([1, expect.stringContaining("422")]);
  expect(await run("r4")).toMatchObject({ error: expect.anything() as unknown });
  await endDev(dev);
}, 60_000);
