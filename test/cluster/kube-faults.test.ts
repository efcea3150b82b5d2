import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { KubeClient } from "../../src/kube/client.ts";
import {
  clientOf,
  configMap,
  eventually,
  reflecting,
  unique,
  type FaultyServer,
} from "../../src/kube/conformance/fixtures.ts";
import { kubeFaultConformance } from "../../src/kube/conformance/suite.ts";
import { CONFIG_MAPS, LEASES } from "../../src/kube/core-types.ts";
import { isGone } from "../../src/kube/errors.ts";
import { kubeconfigAuth } from "../../src/kube/kubeconfig.ts";
import { startControlPlane, type ControlPlane } from "../support/control-plane.ts";

// A plane of its own, since these tests stop, pause and compact it.
let plane: ControlPlane;
let server: FaultyServer;
beforeAll(async () => {
  plane = await startControlPlane({ etcdCompactionInterval: "1s", watchCache: false, controllerManager: false });
  const auth = await kubeconfigAuth({ file: plane.adminKubeconfig });
  const stranger = await kubeconfigAuth({ file: await plane.kubeconfigFor({ user: "stranger", groups: [] }) });
  server = {
    auth,
    stranger,
    namespace: async () => {
      const name = unique("kube");
      await plane.admin.create("/api/v1/namespaces", { metadata: { name } });
      return name;
    },
    compact,
    freeze: () => plane.pause(),
    thaw: () => plane.resume(),
    cut: async () => {
      await plane.stopApiServer("SIGKILL");
      await plane.startApiServer();
    },
  };
});
afterAll(() => plane.stop());

/** The server forgets what is an interval old, once something was written since: writes until a list of now is refused. */
async function compact(): Promise<void> {
  const maps = new KubeClient(clientOf(server.auth).transport).resource(CONFIG_MAPS);
  const namespace = await server.namespace();
  await maps.create(configMap(namespace, "a"));
  await maps.create(configMap(namespace, "b"));
  const half = maps.pages(namespace, { pageSize: 1 });
  await half.next();
  const query = { limit: "1", resourceVersion: (await maps.list(namespace)).resourceVersion };
  const exact = { ...query, resourceVersionMatch: "Exact" };
  let turn = 0;
  await eventually(async () => {
    await maps.mergePatch({ namespace, name: "a" }, { data: { turn: String(turn++) } }, {});
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const old = clientOf(server.auth).transport.json({ method: "GET", path, query: exact });
    await expect(old).rejects.toSatisfy(isGone);
  });
  await expect(half.next()).rejects.toSatisfy(isGone);
}

kubeFaultConformance(() => server);

describe("an API server that is away", () => {
  test("costs neither a watch nor its objects, and is asked again with growing pauses", async () => {
    const namespace = await server.namespace();
    const maps = clientOf(server.auth).resource(CONFIG_MAPS);
    await maps.create(configMap(namespace, "a", {}, { test: "yes" }));
    const failures: unknown[] = [];
    const onError = (error: unknown) => failures.push(error);
    const { reflector, said } = reflecting(server.auth, {
      type: CONFIG_MAPS,
      namespace,
      labelSelector: "test",
      onError,
    });
    await reflector.synced;
    await plane.stopApiServer("SIGTERM");
    await eventually(() => expect(failures.length).toBeGreaterThan(2));
    expect(failures.at(-1)).toMatchObject({ code: "Unreachable", message: expect.stringContaining("ECONNREFUSED") });
    expect(reflector.store.size).toBe(1);
    await plane.startApiServer();
    await maps.create(configMap(namespace, "b", {}, { test: "yes" }));
    await eventually(() => expect(said).toEqual(["+a", "+b"]));
  });
});

describe("two processes that want to lead", () => {
  const program = fileURLToPath(new URL("../support/leader-process.ts", import.meta.url));

  function candidate(namespace: string, identity: string) {
    const child: ChildProcess = spawn(process.execPath, [program, plane.adminKubeconfig, namespace, identity], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const said: string[] = [];
    if (child.stdout) createInterface(child.stdout).on("line", (line) => said.push(line));
    onTestFinished(() => void child.kill("SIGKILL"));
    return { child, said };
  }

  async function namespaceWithTargets() {
    const namespace = await server.namespace();
    const maps = clientOf(server.auth).resource(CONFIG_MAPS);
    await maps.create(configMap(namespace, "state"));
    await maps.apply({ metadata: { namespace, name: "child" }, data: {} }, { fieldManager: "leader" });
    const writers = async () => {
      const [state, child] = await Promise.all(["state", "child"].map((name) => maps.get({ namespace, name })));
      return [state?.data?.["by"], child?.data?.["by"]];
    };
    const holder = async () => {
      const lease = await clientOf(server.auth).resource(LEASES).find({ namespace, name: "leader" });
      return lease?.spec?.holderIdentity?.split("_")[0];
    };
    return { namespace, maps, writers, holder };
  }

  test("when the leader is killed, the other takes over", async () => {
    const { namespace, writers, holder } = await namespaceWithTargets();
    const first = candidate(namespace, "first");
    await eventually(() => expect(first.said).toEqual(["leading"]));
    const second = candidate(namespace, "second");
    await eventually(async () => expect(await writers()).toEqual(["first", "first"]));
    first.child.kill("SIGKILL");
    await eventually(() => expect(second.said).toEqual(["leading"]));
    await eventually(async () => expect(await writers()).toEqual(["second", "second"]));
    expect(await holder()).toBe("second");
  });

  test("a leader stopped past its lease in the middle of its writes overwrites nothing newer when it goes on", async () => {
    const { namespace, maps, writers } = await namespaceWithTargets();
    const first = candidate(namespace, "first");
    await eventually(() => expect(first.said).toEqual(["leading"]));
    const second = candidate(namespace, "second");
    await eventually(async () => expect(await writers()).toEqual(["first", "first"]));
    first.child.kill("SIGSTOP");
    await eventually(() => expect(second.said).toEqual(["leading"]));
    await eventually(async () => expect(await writers()).toEqual(["second", "second"]));
    const seen = reflecting(server.auth, { type: CONFIG_MAPS, namespace });
    await seen.reflector.synced;
    const late: unknown[] = [];
    seen.reflector.onChange(({ next }) => {
      if (next?.data?.["by"] === "first") late.push(next);
    });
    first.child.kill("SIGCONT");
    await eventually(() => expect(first.said).toEqual(["leading", "LeadershipLost"]));
    const before = (await maps.get({ namespace, name: "state" })).data?.["count"];
    await eventually(async () =>
      expect((await maps.get({ namespace, name: "state" })).data?.["count"]).not.toBe(before),
    );
    expect(late).toEqual([]);
    expect(await writers()).toEqual(["second", "second"]);
  });
});
