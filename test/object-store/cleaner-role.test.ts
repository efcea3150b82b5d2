import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { CLEANUP_POLICIES, CLEANUP_RUNS } from "../../src/api/cleanup-resources.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { testMetrics, unique } from "../../src/kube/conformance/fixtures.ts";
import { NAMESPACES } from "../../src/kube/core-types.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";
import { KubePolicy } from "../support/kube-records.ts";
import { makeBucket, type TestBucket } from "../support/object-store/bucket.ts";
import { nameOf } from "../support/object-store/carry-out.ts";
import { sharedObjectStore } from "../support/object-store/shared.ts";
import { type StoreProxy, startStoreProxy } from "../support/object-store/store-proxy.ts";
import { RoleProcess } from "../support/roles/role-process.ts";

// `davit cleaner` as a process over a real store, with an API server that can be harmed. Over a real one: test/cluster/cleaner-role.test.ts.

const PREFIX = "warehouses/a/";
let api: FakeApiServer;
let client: KubeClient;
let proxy: StoreProxy;
let bucket: TestBucket;
let policy: KubePolicy;
let dir: string;
let cleaner: RoleProcess | undefined;

beforeAll(async () => {
  proxy = await startStoreProxy(sharedObjectStore().endpoint);
});
afterAll(() => proxy.stop());

// A server each, as some tests leave theirs harmed.
beforeEach(async () => {
  api = await startFakeApiServer([NAMESPACES, CLEANUP_POLICIES, CLEANUP_RUNS]);
  client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: testMetrics() }));
  bucket = await makeBucket(sharedObjectStore(), { objectLock: true });
  const { bucket: name, ...s3 } = bucket.s3;
  const store = { ...s3, bucket: name, endpoint: proxy.endpoint };
  policy = await new KubePolicy(client, api.addNamespace(unique("team")), { bucket: store }).create();
  dir = mkdtempSync(join(tmpdir(), "davit-cleaner-"));
  for (const folder of ["credentials", "api"]) mkdirSync(join(dir, folder));
  write("api/token", api.token);
  write("api/ca.crt", "");
});
afterEach(async () => {
  proxy.instead = () => undefined;
  await cleaner?.end("SIGKILL");
  await client.transport.close();
  await api.stop();
  rmSync(dir, { recursive: true, force: true });
});

const write = (file: string, text: string) => writeFileSync(join(dir, file), text);

function writeCredentials(): void {
  const { accessKeyId, secretAccessKey } = sharedObjectStore();
  write("credentials/accessKeyId", accessKeyId);
  write("credentials/secretAccessKey", secretAccessKey);
}

/** As in a Pod: by variables alone, without a config file. */
function startCleaner(): RoleProcess {
  cleaner = new RoleProcess("cleaner", "", {
    DAVIT_CONFIG: undefined,
    DAVIT_KUBERNETES_SERVER: api.url,
    DAVIT_KUBERNETES_TOKEN_FILE: join(dir, "api/token"),
    DAVIT_KUBERNETES_CA_FILE: join(dir, "api/ca.crt"),
    DAVIT_CLEANER_NAMESPACE: policy.namespace,
    DAVIT_CLEANER_POLICY: policy.name,
    DAVIT_CLEANER_CREDENTIALS_DIRECTORY: join(dir, "credentials"),
    DAVIT_CLEANER_ADMIN_PORT: "0",
    DAVIT_CLEANER_ADDRESS: "127.0.0.1",
    DAVIT_LOG_LEVEL: "info",
  });
  return cleaner;
}

const names = (count: number) =>
  Array.from({ length: count }, (_, index) => `${PREFIX}${String(index).padStart(4, "0")}`);
const statusOf = async (run: string) => (await policy.run(run)).status ?? {};
const phaseOf = async (run: string) => (await statusOf(run)).phase;
const left = async () => (await bucket.all()).map(nameOf);

/** A moment later than all that was written, and earlier than all that will be. */
async function moment(): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const now = new Date().toISOString();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return now;
}

test("a cleaner needs no config file, carries a run out, and writes no key and no credential into its log", async () => {
  writeCredentials();
  await bucket.putAll(names(30));
  const run = await policy.admit("r1", "a", await moment());
  const young = await bucket.put(`${PREFIX}0000`);
  const process = await startCleaner().ready();
  await expect.poll(() => phaseOf(run)).toBe("Succeeded");
  expect(await statusOf(run)).toMatchObject({ reason: "Completed", counters: { deleted: 30 } });
  expect(await left()).toEqual([`${PREFIX}0000@${young}`]);
  expect(await (await fetch(`${process.admin}/livez`)).text()).toBe("ok\n");
  expect(await process.end()).toBe(0);
  expect(process.lines("attempt ended")).toMatchObject([{ result: "completed", policy: policy.name }]);
  const { accessKeyId, secretAccessKey } = sharedObjectStore();
  for (const secret of [accessKeyId, secretAccessKey, api.token, PREFIX]) expect(process.output).not.toContain(secret);
});

test("a Secret that comes late is used without a restart", async () => {
  await bucket.putAll(names(3));
  const run = await policy.admit("r1", "a", await moment());
  await startCleaner().ready();
  await expect.poll(async () => (await statusOf(run)).lastError?.reason).toBe("InvalidCredentials");
  expect(await statusOf(run)).toMatchObject({ phase: "Pending", lastError: { message: /has no accessKeyId/ } });
  writeCredentials();
  await expect.poll(() => phaseOf(run)).toBe("Succeeded");
  expect(await left()).toEqual([]);
});

test("it is not ready while the API server refuses what it has to read, and says so", async () => {
  const allow = api.forbid(({ plural }) => plural === "cleanupruns");
  const process = await startCleaner().listening();
  await expect.poll(async () => (await process.readyz()).text).toContain("cleanupruns in namespace");
  await expect.poll(async () => (await process.readyz()).text).toContain("refuses to list them (Forbidden)");
  expect((await process.readyz()).status).toBe(503);
  allow();
  await expect.poll(async () => (await process.readyz()).status).toBe(200);
});

test("cut off from the API server it sends no further batch, and goes on when it is back", async () => {
  writeCredentials();
  await bucket.putAll(names(1_200));
  const run = await policy.admit("r1", "a", await moment());
  // The first batch is on its way when the API server falls silent: what comes of it cannot be written.
  let isFrozen = false;
  proxy.instead = ({ method, url }) => {
    const isDelete = method === "POST" && url.includes("delete");
    if (isDelete && !isFrozen) api.freeze();
    isFrozen ||= isDelete;
    return undefined;
  };
  const process = await startCleaner().ready();
  await expect.poll(() => process.lines("attempt ended").length, { timeout: 60_000 }).toBe(1);
  expect(isFrozen).toBe(true);
  expect((await left()).length).toBeGreaterThan(0);
  api.thaw();
  api.cut();
  await expect.poll(() => phaseOf(run), { timeout: 60_000 }).toBe("Succeeded");
  expect(await left()).toEqual([]);
}, 180_000);

test("it ends in order when the API server was restored from a backup, to begin anew", async () => {
  writeCredentials();
  const process = await startCleaner().ready();
  api.watches.silence();
  api.store.version -= 1;
  api.store.history.length = 0;
  api.faults.plan(
    { answer: 410, reason: "Expired" },
    ({ verb, plural }) => verb === "watch" && plural === "cleanupruns",
  );
  api.watches.cut();
  await expect.poll(() => process.child.exitCode).toBe(0);
  expect(process.lines("restored from a backup")).toHaveLength(1);
});
