import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../support/control-plane.ts";
import { isAlive } from "../support/dev-process.ts";

// What a test can do to a plane of its own.
let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ etcdCompactionInterval: "1s", watchCache: false });
});
afterAll(() => plane.stop());

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const poll = { timeout: 20_000, interval: 100 };

describe("a control plane of a test's own", () => {
  test("answers nothing while it is paused, and what was asked meanwhile once it goes on", async () => {
    plane.pause();
    let answer: ReturnType<typeof plane.admin.request> | undefined;
    const isAnswered = async () => {
      answer = plane.admin.request("GET", "/version");
      const late = new Promise((resolve) => setTimeout(() => resolve(false), 500));
      return Promise.race([answer.then(() => true), late]);
    };
    try {
      // A signal to stop takes its time to reach every thread of a server on a busy machine.
      await expect.poll(isAnswered, poll).toBe(false);
    } finally {
      plane.resume();
    }
    expect((await answer)?.status).toBe(200);
  });

  test.each(["SIGTERM", "SIGKILL"] as const)(
    "keeps its objects when the API server ends by %s and starts again",
    async (signal) => {
      const name = signal.toLowerCase();
      await plane.admin.create(CONFIG_MAPS, { metadata: { name } });
      await plane.stopApiServer(signal);
      await expect(plane.admin.request("GET", "/version")).rejects.toMatchObject({ code: "ECONNREFUSED" });
      await plane.startApiServer();
      expect((await plane.admin.get(`${CONFIG_MAPS}/${name}`)).metadata.name).toBe(name);
    },
  );

  test("forgets old versions as fast as it was told, so that a watch from one is 410 Gone", async () => {
    const { metadata } = await plane.admin.create(CONFIG_MAPS, { metadata: { name: "old" } });
    const path = `${CONFIG_MAPS}?watch=true&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`;
    let turn = 0;
    const watch = async () => {
      // A compaction forgets what was there one interval ago, and happens only if something was written since.
      await plane.admin.patch(`${CONFIG_MAPS}/old`, { data: { turn: String(turn++) } });
      const { status, body } = await plane.admin.request<{ code?: number } | string>("GET", path);
      return (
        status === 410 || JSON.stringify(body).includes('"code":410') || JSON.stringify(body).includes('\\"code\\":410')
      );
    };
    await expect.poll(watch, poll).toBe(true);
  });

  test("issues certificates for users and groups that RBAC then judges", async () => {
    const who = { user: "o/hara+1", groups: ["a", "b=c,d"] };
    const client = await plane.clientFor(who);
    const review = await client.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {});
    expect(review["status"].userInfo).toMatchObject({ username: who.user, groups: expect.arrayContaining(who.groups) });
    expect((await client.request("GET", CONFIG_MAPS)).status).toBe(403);
  });

  test("keeps what its servers print", () => {
    expect(plane.logs("kube-apiserver")).toContain("Serving securely");
    expect(plane.logs()).toContain("--- etcd");
  });
});

test("a control plane goes with the process that started it, even when that is killed", async () => {
  const script = `
    import { startControlPlane } from ${JSON.stringify(new URL("../support/control-plane.ts", import.meta.url).href)};
    const plane = await startControlPlane({ controllerManager: false });
    console.log(JSON.stringify({ dir: plane.dir, pids: ["etcd", "kube-apiserver"].map((name) => plane.pid(name)) }));
  `;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { dir, pids } = JSON.parse(line.toString()) as { dir: string; pids: number[] };
  expect(pids.map(isAlive)).toEqual([true, true]);
  child.kill("SIGKILL");
  await expect.poll(() => pids.map(isAlive), poll).toEqual([false, false]);
  await expect.poll(() => existsSync(dir), poll).toBe(false);
});
