import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./control-plane/access.ts";
import type { Pod } from "./fake-kubelet/pod-spec.ts";
import { NODE_NAME, PodWorker, type StartPod } from "./fake-kubelet/pod-worker.ts";
import type { PodProcess } from "./fake-kubelet/process.ts";

const LIST_MS = 100;

/** A pod that the fake kubelet keeps. */
export interface KeptPod {
  readonly pod: Pod;
  readonly process: PodProcess | undefined;
  /** As a Service sees it: false as well once the pod is being deleted. */
  readonly isReady: boolean;
}

export interface FakeKubeletOptions {
  /** Whose pods it keeps; `keep` adds one later. */
  readonly namespaces: readonly string[];
  /** Starts the process of a pod, and again when it ended by itself. */
  readonly start: StartPod;
}

/**
 * Stands for scheduler and kubelet: binds each pod to a node that is an object alone, runs the process a test gives for it, marks the
 * pod Running, and Ready only while that process answers its `/readyz`; a deleted pod is removed once its process has ended.
 * Requests that fail are tried again, so an API server may stop and come back.
 */
export class FakeKubelet {
  readonly #cluster: Cluster;
  readonly #start: StartPod;
  readonly #namespaces: Set<string>;
  readonly #workers = new Map<string, PodWorker>();
  readonly #ending = new Set<Promise<void>>();
  readonly #dir = mkdtempSync(join(tmpdir(), "davit-kubelet-"));
  #address = 0;
  #isStopped = false;
  readonly #done: Promise<void>;

  constructor(cluster: Cluster, options: FakeKubeletOptions) {
    this.#cluster = cluster;
    this.#start = options.start;
    this.#namespaces = new Set(options.namespaces);
    this.#done = this.#run();
  }

  /** Keeps the pods of one more namespace. */
  keep(namespace: string): void {
    this.#namespaces.add(namespace);
  }

  /** The pods it keeps at present. */
  pods(): KeptPod[] {
    return [...this.#workers.values()].map(({ pod, process, isReady }) => ({
      pod,
      process,
      isReady: isReady && pod.metadata.deletionTimestamp === undefined,
    }));
  }

  /** Ends the processes and reports no more; the pods stay as they are. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
    await Promise.all([...this.#ending, ...[...this.#workers.values()].map((worker) => worker.end())]);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #run(): Promise<void> {
    for (; !this.#isStopped; await sleep(LIST_MS)) {
      await Promise.all([...this.#namespaces].map((namespace) => this.#sync(namespace))).catch(() => {});
    }
  }

  async #sync(namespace: string): Promise<void> {
    const pods = await this.#cluster.admin.list<Pod>(`/api/v1/namespaces/${namespace}/pods`);
    if (this.#isStopped) return;
    const present = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const pod of pods) {
      const worker = this.#workers.get(pod.metadata.uid);
      if (worker === undefined) this.#workers.set(pod.metadata.uid, this.#workerFor(pod));
      else worker.update(pod);
    }
    for (const worker of this.#workers.values()) {
      if (worker.pod.metadata.namespace !== namespace || present.has(worker.uid)) continue;
      this.#workers.delete(worker.uid);
      const ending = worker.end().finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
    }
  }

  #workerFor(pod: Pod): PodWorker {
    const address = ++this.#address;
    // A pod network's address that nothing answers: an EndpointSlice takes no loopback one.
    const podIp = `10.244.${address >> 8}.${address & 0xff}`;
    return new PodWorker(this.#cluster, pod, this.#start, { dir: join(this.#dir, pod.metadata.uid), podIp });
  }
}

/** Starts a fake kubelet, and makes its Node so that the controller manager does not collect the pods as orphans. */
export async function startFakeKubelet(cluster: Cluster, options: FakeKubeletOptions): Promise<FakeKubelet> {
  await cluster.admin.apply(`/api/v1/nodes/${NODE_NAME}`, {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: NODE_NAME },
  });
  return new FakeKubelet(cluster, options);
}

/** For pods whose process the test runs anyway: names the `/readyz` of each; undefined while it has none. */
export function probeOnly(readyzUrl: (pod: Pod) => string | undefined): StartPod {
  return ({ pod }) => {
    const url = readyzUrl(pod);
    return url === undefined ? undefined : { readyzUrl: url, stop: async () => {} };
  };
}
