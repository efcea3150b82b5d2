import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { command } from "../../src/cli/cleanup.ts";
import { startDavit } from "../support/dev-process.ts";
import { makeBucket, type TestBucket } from "../support/object-store/bucket.ts";
import { carryOut, nameOf, PREFIX } from "../support/object-store/carry-out.ts";
import { sharedObjectStore } from "../support/object-store/shared.ts";
import { startStoreProxy } from "../support/object-store/store-proxy.ts";

// `davit cleanup plan` over a real store: what it says is what a run then does.

const dir = mkdtempSync(join(tmpdir(), "davit-plan-"));
const file = join(dir, "policy.yaml");
let bucket: TestBucket;
let cutoff: string;

beforeAll(async () => {
  bucket = await makeBucket(sharedObjectStore(), { objectLock: true });
  await bucket.putAll(Array.from({ length: 25 }, (_, index) => `${PREFIX}${String(index).padStart(2, "0")}`));
  await bucket.hold({ key: `${PREFIX}held`, versionId: await bucket.put(`${PREFIX}held`) });
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  cutoff = new Date().toISOString();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await bucket.put(`${PREFIX}new`);
  write({});
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function write(spec: object, data: object = {}): void {
  const { accessKeyId, secretAccessKey } = sharedObjectStore();
  const { endpoint, bucket: name } = bucket.s3;
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s3", labels: { "davit.dev/use": "true" } },
    stringData: { accessKeyId, secretAccessKey, ...data },
  };
  const policy = {
    apiVersion: "davit.dev/v1alpha1",
    kind: "CleanupPolicy",
    metadata: { name: "labels" },
    spec: {
      s3: { endpoint, bucket: name, credentialsSecretRef: { name: "s3" } },
      prefixTemplate: "warehouses/{scope}/",
      safety: { maxDeletePercent: 100 },
      ...spec,
    },
  };
  writeFileSync(file, [secret, policy].map((object) => stringify(object)).join("---\n"));
}

const plan = (...args: string[]) => planOn({ isTTY: false }, ...args);

async function planOn({ isTTY }: { readonly isTTY: boolean }, ...args: string[]) {
  let [stdout, stderr] = ["", ""];
  const io = {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text), isTTY },
  };
  const code = await command.run(["plan", "-f", file, "--scope", "wh-1", "--cutoff", cutoff, ...args], io);
  return { code, stdout, stderr };
}

test("a plan is a table of counts, reasons and the first versions", async () => {
  const { code, stdout, stderr } = await plan();
  expect([code, stderr]).toEqual([0, ""]);
  const rows = stdout.split("\n").map((line) => line.trim().split(/\s{2,}/));
  expect(rows).toContainEqual(["listed", "27"]);
  expect(rows).toContainEqual(["LegalHold", "1"]);
  expect(rows).toContainEqual(["planned", "25"]);
  expect(stdout).toContain("and 5 more: -o ndjson lists all");
  expect((await plan("--limit", "24")).stdout).toContain("and 1 more");
});

test("a terminal is shown how far a plan is, and the plan is the same", async () => {
  const { code, stdout, stderr } = await planOn({ isTTY: true }, "-o", "json");
  expect(code).toBe(0);
  expect(stderr).toContain("counting: 27 versions");
  expect(stderr).toContain("25 planned: 27 of 27 (100 %)");
  expect(stdout).toBe((await plan("-o", "json")).stdout);
});

test("the list is that of the run that deletes, line by line, and so is its digest", async () => {
  const { code, stdout } = await plan("-o", "ndjson");
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const summary = lines.pop();
  expect(code).toBe(0);
  const before = await bucket.all();
  const run = await carryOut(bucket, { cutoff: Date.parse(cutoff) });
  expect(lines.map((line) => nameOf(line as { key: string; versionId: string }))).toEqual(run.planned);
  expect(summary).toMatchObject({ policy: "default/labels", scope: "wh-1", planDigest: run.status.planDigest });
  expect(before).toHaveLength(27);
  expect(await bucket.all()).toHaveLength(2);
});

test("what an Enforce run would be refused for, and what keeps a plan from being made, is told with its reason", async () => {
  await bucket.putAll([`${PREFIX}a`, `${PREFIX}b`]);
  cutoff = new Date(Date.now() + 2_000).toISOString();
  write({ safety: { maxDeletesPerRun: 1, maxDeletePercent: 100 } });
  const over = await plan("-o", "json");
  expect(over).toMatchObject({ code: 1, stderr: expect.stringMatching(/^TooManyDeletes: /) as string });
  expect(JSON.parse(over.stdout)).toMatchObject({ counters: { planned: 3 } });
  write({}, { secretAccessKey: "not-this-one" });
  const denied = await plan();
  expect(denied).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^InvalidCredentials: /) as string,
  });
  expect(denied.stderr).toContain("spec.s3.credentialsSecretRef");
  expect(denied.stderr).not.toContain("not-this-one");
  write({}, { secretAccessKey: "" });
  await expect(plan()).rejects.toThrow(/has no secretAccessKey/);
});

test("a bucket without versioning is told with its reason, and nothing of it is planned", async () => {
  const unversioned = await makeBucket(sharedObjectStore(), { unversioned: true });
  await unversioned.put(`${PREFIX}a`);
  write({ s3: { endpoint: bucket.s3.endpoint, bucket: unversioned.name, credentialsSecretRef: { name: "s3" } } });
  expect(await plan("-o", "ndjson")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^VersioningNotEnabled: .*enable it/) as string,
  });
  write({ s3: { endpoint: bucket.s3.endpoint, bucket: "no-such-bucket", credentialsSecretRef: { name: "s3" } } });
  expect(await plan()).toMatchObject({ code: 1, stderr: expect.stringMatching(/^BucketNotFound: /) as string });
});

test("a plan that is ended by Ctrl-C says so, and there is none", async () => {
  const proxy = await startStoreProxy(sharedObjectStore().endpoint);
  onTestFinished(() => proxy.stop());
  proxy.instead = () => "hang";
  write({ s3: { endpoint: proxy.endpoint, bucket: bucket.name, credentialsSecretRef: { name: "s3" } } });
  const program = startDavit(["cleanup", "plan", "-f", file, "--scope", "wh-1", "--cutoff", cutoff]);
  await expect.poll(() => proxy.requests.length).toBeGreaterThan(0);
  program.child.kill("SIGINT");
  expect(await program.ended).toEqual({ code: 1, stdout: "", stderr: "stopped before the end: there is no plan\n" });
});
