import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cluster, kubeconfig } from "../control-plane/access.ts";
import { PATCH } from "../control-plane/client.ts";
import { type Container, environment, expand, type Lookup, MissingObjectError, type Pod } from "./pod-spec.ts";
import type { PodProcess } from "./process.ts";
import { type ContainerState, podStatus } from "./status.ts";
import { relocate, writeVolumes } from "./volumes.ts";

const PROBE_MS = 100;
const PROBE_TIMEOUT_MS = 1_000;
/** Probes without an answer in a row until a ready pod counts as not ready (Kubernetes: `failureThreshold`). A refusal counts at once. */
const SILENT_PROBES = 3;
const RESTART_MS = 500;
const DEFAULT_GRACE_SECONDS = 30;

/** What a pod's first container is to run with. Paths of mounts are replaced by where they stand on this machine. */
export interface PodStart {
  readonly pod: Pod;
  readonly container: Container;
  readonly command: readonly string[];
  readonly args: readonly string[];
  /** From the spec alone, downward API included; KUBECONFIG is added unless the pod mounts no service account token. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder (or file, of a subPath) by mount path. */
  readonly mounts: ReadonlyMap<string, string>;
  /** File with the credentials of the pod's service account; valid for an hour, and only as long as the pod exists. */
  readonly kubeconfig: string | undefined;
}

/** Starts a pod's process. undefined: there is none yet; asked again shortly. */
export type StartPod = (start: PodStart) => Promise<PodProcess | undefined> | PodProcess | undefined;

/** Keeps one pod: starts its process, probes it, reports, and ends it when the pod is deleted. */
export class PodWorker {
  readonly uid: string;
  #pod: Pod;
  readonly #cluster: Cluster;
  readonly #start: StartPod;
  readonly #dir: string;
  readonly #podIp: string;
  #process: PodProcess | undefined;
  #state: ContainerState;
  #reported = "";
  #isGone = false;
  #silentProbes = 0;
  readonly #done: Promise<void>;

  constructor(cluster: Cluster, pod: Pod, start: StartPod, place: { readonly dir: string; readonly podIp: string }) {
    this.uid = pod.metadata.uid;
    this.#cluster = cluster;
    this.#pod = pod;
    this.#start = start;
    this.#dir = place.dir;
    this.#podIp = place.podIp;
    this.#state = {
      isRunning: false,
      isReady: false,
      restarts: 0,
      startedAt: new Date().toISOString(),
      podIp: this.#podIp,
    };
    this.#done = this.#run();
  }

  get pod(): Pod {
    return this.#pod;
  }
  get process(): PodProcess | undefined {
    return this.#process;
  }
  get isReady(): boolean {
    return this.#state.isReady;
  }

  /** A newer version of the pod. */
  update(pod: Pod): void {
    this.#pod = pod;
  }

  /** The pod is gone from the API, or the kubelet ends: no more is reported. */
  async end(): Promise<void> {
    this.#isGone = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#isGone && this.#pod.metadata.deletionTimestamp === undefined) {
      await this.#step().catch(() => {});
      await sleep(this.#process === undefined ? RESTART_MS / 5 : PROBE_MS);
    }
    await this.#terminate();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** One turn: an error is a failed request to the API server, tried again in the next turn. */
  async #step(): Promise<void> {
    await this.#ensureNode();
    if (this.#process === undefined) await this.#startContainer();
    const isReady = this.#process !== undefined && (await this.#probe(this.#process));
    this.#state = { ...this.#state, isRunning: this.#process !== undefined, isReady };
    await this.#report();
  }

  async #probe(process: PodProcess): Promise<boolean> {
    const answer = await probe(process.readyzUrl);
    this.#silentProbes = answer === "silent" ? this.#silentProbes + 1 : 0;
    if (answer === "silent") return this.isReady && this.#silentProbes < SILENT_PROBES;
    return answer === "ready";
  }

  async #ensureNode(): Promise<void> {
    if (this.#pod.spec.nodeName !== undefined) return;
    const { name, namespace } = this.#pod.metadata;
    await this.#cluster.admin.request("POST", `/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target: { kind: "Node", name: NODE_NAME },
    });
    this.#pod = await this.#cluster.admin.get<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
  }

  async #startContainer(): Promise<void> {
    try {
      const process = await this.#start(await this.#prepare());
      if (process === undefined) return;
      this.#process = process;
      this.#state = { ...this.#state, startedAt: new Date().toISOString() };
      void process.ended?.then(() => this.#restart(process));
    } catch (error) {
      if (!(error instanceof MissingObjectError)) throw error;
      this.#state = { ...this.#state, waiting: "CreateContainerConfigError" };
    }
  }

  #restart(process: PodProcess): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    this.#state = { ...this.#state, restarts: this.#state.restarts + 1, waiting: "CrashLoopBackOff" };
  }

  async #prepare(): Promise<PodStart> {
    const pod = this.#pod;
    const container = pod.spec.containers[0];
    if (container === undefined) throw new Error(`pod ${pod.metadata.name} has no container`);
    const lookup = lookupIn(this.#cluster, pod.metadata.namespace);
    const token = () => this.#token();
    const mounts = await writeVolumes(this.#dir, pod, container, { lookup, token });
    const env = await environment(pod, container, lookup);
    const here = (text: string) => relocate(text, mounts);
    const list = (texts: readonly string[] = []) => texts.map((text) => here(expand(text, env)));
    const credentials = mounts.has(TOKEN_MOUNT) ? await this.#writeKubeconfig() : undefined;
    const relocated = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, here(value)]));
    return {
      pod,
      container,
      command: list(container.command),
      args: list(container.args),
      env: credentials === undefined ? relocated : { ...relocated, KUBECONFIG: credentials },
      mounts,
      kubeconfig: credentials,
    };
  }

  async #token(): Promise<string> {
    const { name, namespace, uid } = this.#pod.metadata;
    const account = this.#pod.spec.serviceAccountName ?? "default";
    const answer = await this.#cluster.admin.create(
      `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      { spec: { expirationSeconds: 3607, boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid } } },
    );
    return answer["status"].token;
  }

  async #writeKubeconfig(): Promise<string> {
    mkdirSync(this.#dir, { recursive: true });
    const file = join(this.#dir, "kubeconfig");
    const { ca, url } = this.#cluster;
    writeFileSync(file, kubeconfig(url, ca, { token: await this.#token() }, this.#pod.metadata.namespace), {
      mode: 0o600,
    });
    return file;
  }

  async #report(): Promise<void> {
    const text = JSON.stringify(this.#state);
    if (text === this.#reported) return;
    const { name, namespace, uid } = this.#pod.metadata;
    const change = { metadata: { uid }, status: podStatus(this.#pod, this.#state) };
    await this.#cluster.admin.must(
      "PATCH",
      `/api/v1/namespaces/${namespace}/pods/${name}/status`,
      change,
      PATCH.strategic,
    );
    this.#reported = text;
  }

  /** As a kubelet does: the preStop pause, the process, and then the object, which only the node may remove. */
  async #terminate(): Promise<void> {
    const { deletionGracePeriodSeconds = DEFAULT_GRACE_SECONDS, name, namespace } = this.#pod.metadata;
    const end = performance.now() + deletionGracePeriodSeconds * 1000;
    const pause = this.#pod.spec.containers[0]?.lifecycle?.preStop?.sleep?.seconds ?? 0;
    if (!this.#isGone) await sleep(Math.min(pause, deletionGracePeriodSeconds) * 1000);
    const process = this.#process;
    this.#process = undefined;
    await process?.stop(this.#isGone ? 1 : Math.max(1, (end - performance.now()) / 1000));
    while (!this.#isGone) {
      const options = { gracePeriodSeconds: 0, preconditions: { uid: this.uid } };
      const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
      const status = await this.#cluster.admin.request("DELETE", path, options).then(
        (answer) => answer.status,
        () => 0,
      );
      if ([200, 202, 404, 409].includes(status)) return;
      await sleep(RESTART_MS);
    }
  }
}

/** The node that every pod is bound to. */
export const NODE_NAME = "fake-node";
/** Where admission mounts the service account's token (Kubernetes: "Configure Service Accounts for Pods"). */
const TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

async function probe(url: string): Promise<"ready" | "refused" | "silent"> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await answer.body?.cancel();
    return answer.status >= 200 && answer.status < 400 ? "ready" : "refused";
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError" ? "silent" : "refused";
  }
}

function lookupIn(cluster: Cluster, namespace: string): Lookup {
  const plurals = { Secret: "secrets", ConfigMap: "configmaps" };
  return async (kind, name) => {
    const { status, body } = await cluster.admin.request(
      "GET",
      `/api/v1/namespaces/${namespace}/${plurals[kind]}/${name}`,
    );
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`${kind} ${name}: ${status}`);
    const encoding = kind === "Secret" ? "base64" : "utf8";
    const data = Object.entries((body["data"] ?? {}) as Record<string, string>);
    return new Map(data.map(([key, value]) => [key, Buffer.from(value, encoding)]));
  };
}
