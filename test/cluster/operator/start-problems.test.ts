import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { CLEANUP_POLICIES, CLEANUP_RUNS } from "../../../src/api/cleanup-resources.ts";
import { WEBHOOK_DESTINATIONS } from "../../../src/controllers/webhook-destination/destination-types.ts";
import { WEBHOOK_ROUTES } from "../../../src/controllers/webhook-route/route-types.ts";
import { LEASES, NAMESPACES, SECRETS } from "../../../src/kube/core-types.ts";
import { heldPort } from "../../support/held-port.ts";
import { sharedCluster } from "../../support/cluster.ts";
import { type FakeApiServer, startFakeApiServer } from "../../support/fake-api-server/server.ts";
import { becomes } from "../../support/operator/polling.ts";
import { startRedis, type TestRedis } from "../../support/redis.ts";
import { RoleProcess } from "../../support/roles/role-process.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const cluster = sharedCluster();
const dir = mkdtempSync(join(tmpdir(), "davit-start-"));
const processes: RoleProcess[] = [];
let redis: TestRedis;
let fake: FakeApiServer;

beforeAll(async () => {
  [redis, fake] = await Promise.all([startRedis(), startFakeApiServer([SECRETS, LEASES, NAMESPACES])]);
});
afterAll(async () => {
  await Promise.all(processes.map((process) => process.end("SIGKILL")));
  await fake?.stop();
  await redis?.stop();
  rmSync(dir, { recursive: true, force: true });
});

function file(content: string): string {
  const path = join(dir, randomUUID());
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** Starts a controller that reaches the API server in this way. */
function start(kubernetes: object): RoleProcess {
  const config = {
    release: "r",
    redis: { urlFile: file(redis.url) },
    kubernetes,
    controller: { adminPort: 0, address: "127.0.0.1" },
  };
  const running = new RoleProcess("controller", file(JSON.stringify(config)));
  processes.push(running);
  return running;
}

/** The lines that an operator is to see: errors of the log, or what stands on standard error of a process that did not start. */
function complaints({ output }: RoleProcess): string[] {
  return output.split("\n").filter((line) => line !== "" && (!line.startsWith("{") || line.includes('"level":50')));
}

/** Waits for the message, and that no other follows and nothing is said twice. */
async function complains(running: RoleProcess, message: RegExp): Promise<void> {
  await becomes(() => complaints(running)[0], expect.stringMatching(message));
  // Long enough for it to look again.
  await sleep(4_000);
  expect(complaints(running)).toHaveLength(1);
  expect(running.output).not.toMatch(/\n\s+at /);
}

const asFake = () => ({ server: fake.url, tokenFile: file(fake.token), caFile: file("") });

describe.concurrent("a controller says once, and what to do about it, that", () => {
  test("there is no kubeconfig where it is told to look", async () => {
    const running = start({ kubeconfig: join(dir, "absent") });
    await complains(running, /no kubeconfig at .*absent: give --kubeconfig FILE/);
    await becomes(() => running.child.exitCode, 1);
  });

  test("the kubeconfig is no kubeconfig", async () => {
    const running = start({ kubeconfig: file("clusters: {") });
    await complains(running, /kubeconfig/);
    await becomes(() => running.child.exitCode, 1);
  });

  test("the kubeconfig has no such context", async () => {
    const running = start({ kubeconfig: cluster.adminKubeconfig, context: "elsewhere" });
    await complains(running, /context.*elsewhere/);
    await becomes(() => running.child.exitCode, 1);
  });

  test("the API server cannot be reached; it goes on asking, and is not ready", async () => {
    const running = start({ ...asFake(), server: `http://127.0.0.1:${await heldPort()}` });
    await complains(running, /API server .*127\.0\.0\.1:\d+.*ECONNREFUSED/);
    expect((await running.readyz()).status).toBe(503);
    expect(running.child.exitCode).toBeNull();
  });

  test("its rights are missing, with the command that shows each", async () => {
    const namespace = await cluster.namespace("rights");
    const token = await cluster.tokenFor(namespace, "default");
    const running = start({ server: cluster.url, tokenFile: file(token), caFile: cluster.caFile });
    const missing = (line: string) => /not allowed to .*kubectl auth can-i/.test(line);
    await becomes(() => complaints(running).length > 5 && complaints(running).every(missing), true);
    const first = complaints(running);
    await sleep(4_000);
    expect(complaints(running)).toEqual(first);
    expect(new Set(first).size).toBe(first.length);
  });
});

describe("a controller says once, and what to do about it, that", () => {
  test("the CRDs are not installed, and goes on by itself once they are", async () => {
    const running = start(asFake());
    await complains(running, /knows no WebhookRoutes: install the CRDs/);
    expect((await running.readyz()).text).toMatch(/install the CRDs/);
    const types = [WEBHOOK_ROUTES, WEBHOOK_DESTINATIONS, CLEANUP_POLICIES, CLEANUP_RUNS];
    const named = ["WebhookRoutes", "WebhookDestinations", "CleanupPolicies", "CleanupRuns"];
    for (const [position, type] of types.entries()) {
      const message = `knows no ${named[position]}: install the CRDs`;
      await becomes(() => complaints(running).at(-1), expect.stringContaining(message));
      fake.serve(type);
    }
    await becomes(() => complaints(running).at(-1), expect.not.stringMatching(/install the CRDs/));
    for (const type of types) fake.unserve(type);
  });

  test("the API server is too old", async () => {
    const { version } = fake;
    fake.version = { major: "1", minor: "29", gitVersion: "v1.29.7" };
    const running = start(asFake());
    await complains(running, /API server is v1\.29\.7, but Davit needs Kubernetes 1\.30 or later: upgrade/);
    expect(running.child.exitCode).toBeNull();
    fake.version = version;
  });
});
