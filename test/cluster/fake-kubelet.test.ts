import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { heldPort } from "../support/held-port.ts";
import { sharedCluster } from "../support/cluster.ts";
import { FakeGatewayController } from "../support/fake-gateway-controller.ts";
import { type SpawnedPodProcess, spawnPodProcess } from "../support/fake-kubelet/process.ts";
import { type FakeKubelet, startFakeKubelet } from "../support/fake-kubelet.ts";
import type { PodStart } from "../support/fake-kubelet/pod-worker.ts";

const cluster = sharedCluster();
let kubelet: FakeKubelet | undefined;
const started: PodStart[] = [];
const processes: SpawnedPodProcess[] = [];

afterEach(async () => {
  await kubelet?.stop();
  started.length = 0;
  processes.length = 0;
});

// A role in small: ready once it listens, not ready after SIGUSR1, and ended by SIGTERM.
const SERVER = `
let status = 200;
process.on("SIGUSR1", () => { status = 503; });
process.on("SIGTERM", () => process.exit(0));
require("node:http").createServer((_, answer) => { answer.statusCode = status; answer.end(); }).listen(process.argv[1], "127.0.0.1");
`;

async function start(pod: PodStart): Promise<SpawnedPodProcess> {
  const port = await heldPort();
  started.push(pod);
  const spawned = spawnPodProcess({
    command: process.execPath,
    args: ["-e", SERVER, String(port)],
    env: pod.env,
    readyzUrl: `http://127.0.0.1:${port}/readyz`,
  });
  processes.push(spawned);
  return spawned;
}

async function deploy(replicas: number, container: object = {}, pod: object = {}): Promise<string> {
  const namespace = await cluster.namespace();
  kubelet = await startFakeKubelet(cluster, { namespaces: [namespace], start });
  const labels = { app: "role" };
  await cluster.admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name: "role" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { ...pod, containers: [{ name: "role", image: "role:1", ...container }] },
      },
    },
  });
  return namespace;
}

const readyReplicas = async (namespace: string) =>
  (await cluster.admin.get(`/apis/apps/v1/namespaces/${namespace}/deployments/role`))["status"].readyReplicas ?? 0;

const poll = { timeout: 60_000, interval: 50 };

describe("the fake kubelet", () => {
  test("makes a Deployment's pods Ready while their processes say so, and only then", async () => {
    const namespace = await deploy(2);
    await expect.poll(() => readyReplicas(namespace), poll).toBe(2);
    processes[0]?.child.kill("SIGUSR1");
    await expect.poll(() => readyReplicas(namespace), poll).toBe(1);
    expect(kubelet?.pods().filter(({ isReady }) => isReady)).toHaveLength(1);
  });

  test("starts a process again that ended by itself, and says how often", async () => {
    const namespace = await deploy(1);
    await expect.poll(() => readyReplicas(namespace), poll).toBe(1);
    processes[0]?.child.kill("SIGKILL");
    await expect.poll(() => processes.length, poll).toBe(2);
    const restarts = async () => {
      const [pod] = await cluster.admin.list(`/api/v1/namespaces/${namespace}/pods`);
      return pod?.["status"].containerStatuses[0].restartCount;
    };
    await expect.poll(restarts, poll).toBe(1);
    await expect.poll(() => readyReplicas(namespace), poll).toBe(1);
  });

  test("removes a deleted pod once its process has ended, and lets a namespace go", async () => {
    const namespace = await deploy(1);
    await expect.poll(() => readyReplicas(namespace), poll).toBe(1);
    await cluster.admin.delete(`/api/v1/namespaces/${namespace}`);
    await processes[0]?.ended;
    expect(processes[0]?.child.exitCode).toBe(0);
    const status = async () => (await cluster.admin.request("GET", `/api/v1/namespaces/${namespace}`)).status;
    await expect.poll(status, poll).toBe(404);
  });

  test("runs what the pod's spec says: arguments, downward API, Secrets as variables and as files, service account", async () => {
    const env = [
      { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "APP", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
      { name: "KEY", valueFrom: { secretKeyRef: { name: "config", key: "key" } } },
      { name: "CONFIG", value: "/etc/davit/$(KEY).yaml" },
    ];
    const container = {
      args: ["worker", "--config=/etc/davit/config.yaml", "$(POD)", "$$(POD)", "/etc/davit2"],
      env,
      volumeMounts: [{ name: "config", mountPath: "/etc/davit" }],
    };
    const volumes = [{ name: "config", secret: { secretName: "config" } }];
    const namespace = await deploy(1, container, { volumes });
    const waiting = async () => {
      const [pod] = await cluster.admin.list(`/api/v1/namespaces/${namespace}/pods`);
      return pod?.["status"].containerStatuses?.[0].state.waiting?.reason;
    };
    await expect.poll(waiting, poll).toBe("CreateContainerConfigError");
    expect(processes).toEqual([]);

    const stringData = { key: "config", "config.yaml": "a: 1" };
    await cluster.admin.create(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: "config" }, stringData });
    await expect.poll(() => readyReplicas(namespace), poll).toBe(1);
    const pod = started[0] as PodStart;
    const folder = pod.mounts.get("/etc/davit") ?? "";
    expect(pod.args).toEqual([
      "worker",
      `--config=${folder}/config.yaml`,
      pod.pod.metadata.name,
      "$(POD)",
      "/etc/davit2",
    ]);
    expect(pod.env).toMatchObject({ APP: "role", KEY: "config", CONFIG: `${folder}/config.yaml` });
    expect(readFileSync(`${folder}/config.yaml`, "utf8")).toBe("a: 1");
    const token = JSON.parse(readFileSync(pod.kubeconfig ?? "", "utf8")).users[0].user.token;
    const review = await cluster.admin.create("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token } });
    expect(review["status"].user.username).toBe(`system:serviceaccount:${namespace}:default`);
  });
});

describe("the fake gateway controller", () => {
  const HTTPROUTES = (namespace: string) => `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes`;

  test("accepts an HTTPRoute, and resolves its backend in another namespace only with a grant", async () => {
    const [own, other] = await Promise.all([cluster.namespace(), cluster.namespace()]);
    const controller = new FakeGatewayController(cluster, { namespaces: [own] });
    try {
      const port = 80;
      await cluster.admin.create(`/api/v1/namespaces/${other}/services`, {
        metadata: { name: "gateway" },
        spec: { ports: [{ port }] },
      });
      const backendRefs = [{ name: "gateway", namespace: other, port }];
      await cluster.admin.create(HTTPROUTES(own), {
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "HTTPRoute",
        metadata: { name: "a" },
        spec: { parentRefs: [{ name: "public", namespace: "infra" }], rules: [{ backendRefs }] },
      });
      const conditions = async () => {
        const { status } = await cluster.admin.get(`${HTTPROUTES(own)}/a`);
        const list: { type: string; status: string; reason: string }[] = status?.parents[0]?.conditions ?? [];
        return list.map((each) => `${each.type}=${each.status} ${each.reason}`);
      };
      await expect.poll(conditions, poll).toEqual(["Accepted=True Accepted", "ResolvedRefs=False RefNotPermitted"]);
      await cluster.admin.create(`/apis/gateway.networking.k8s.io/v1beta1/namespaces/${other}/referencegrants`, {
        apiVersion: "gateway.networking.k8s.io/v1beta1",
        kind: "ReferenceGrant",
        metadata: { name: "a" },
        spec: {
          from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: own }],
          to: [{ group: "", kind: "Service", name: "gateway" }],
        },
      });
      await expect.poll(conditions, poll).toEqual(["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs"]);
    } finally {
      await controller.stop();
    }
  });

  test("gives an address to the Ingresses it admits", async () => {
    const namespace = await cluster.namespace();
    const admit = ({ metadata }: { metadata: { name: string } }) => metadata.name === "in";
    const controller = new FakeGatewayController(cluster, { namespaces: [namespace], admit });
    try {
      const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`;
      const defaultBackend = { service: { name: "gateway", port: { number: 80 } } };
      for (const name of ["out", "in"])
        await cluster.admin.create(path, { metadata: { name }, spec: { defaultBackend } });
      const admitted = async () => {
        const list = await cluster.admin.list(path);
        return list
          .filter(({ status }) => status.loadBalancer.ingress?.length > 0)
          .map(({ metadata }) => metadata.name);
      };
      await expect.poll(admitted, poll).toEqual(["in"]);
    } finally {
      await controller.stop();
    }
  });
});
