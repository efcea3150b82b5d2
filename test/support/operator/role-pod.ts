import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMPILE_CACHE } from "../compile-cache.ts";
import type { Cluster } from "../control-plane/access.ts";
import type { PodStart } from "../fake-kubelet/pod-worker.ts";
import { type SpawnedPodProcess, spawnPodProcess } from "../fake-kubelet/process.ts";
import { relocate } from "../fake-kubelet/volumes.ts";

const FROM_SOURCE = join(import.meta.dirname, "../roles/davit-from-source.ts");
const MAIN = join(import.meta.dirname, "../../../src/main.ts");
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** What roles log once they listen. */
const STARTED = /"(?:gateway listens|worker runs|controller runs)"/;
/** Answers nothing: a role that does not listen yet is not ready. */
const NOT_LISTENING = "http://127.0.0.1:9/readyz";

/** A file that says that the cache has the roles. */
const WARM = join(COMPILE_CACHE, "roles");

/** Fills the cache before many processes start at the same time; a process writes to it as it ends. */
export function warmUp(): void {
  if (existsSync(WARM)) return;
  const env = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: COMPILE_CACHE };
  for (const role of ["controller", "gateway", "worker"]) {
    spawnSync(process.execPath, [MAIN, role, "--config", "/nonexistent"], { env, stdio: "ignore" });
  }
  writeFileSync(WARM, "");
}

/** A role of Davit that runs as the process of a pod. */
export interface RolePod extends SpawnedPodProcess {
  readonly name: string;
  /** `gateway`, `controller` or `worker`. */
  readonly role: string;
  /** Identity of a controller in the leader's Lease; undefined while it does not listen. */
  readonly identity: string | undefined;
  /** Base URL of the gateway's public listener; undefined while it does not listen. */
  readonly url: string | undefined;
  /** Base URL of probes and metrics; undefined while it does not listen. */
  readonly adminUrl: string | undefined;
  /** Whether it has logged this message. */
  said(message: string): boolean;
}

/** Where pods of a test find things that have other addresses here than in a cluster. */
export interface PodSurroundings {
  readonly cluster: Cluster;
  /** Image → script that stands for it. Images that are not named are Davit's own. */
  readonly images?: Readonly<Record<string, string>>;
  /** URL of the API server for a process, instead of the cluster's. */
  readonly serverFor?: ((start: PodStart) => string | undefined) | undefined;
  /** Script to preload into a process of Davit's own. */
  readonly preloadFor?: ((start: PodStart) => string | undefined) | undefined;
  /** `HOST:PORT` as it stands in mounted files → `HOST:PORT` on this machine. */
  readonly addresses?: ReadonlyMap<string, string>;
}

/** Starts what a pod's spec says, from the source tree, on ports of the system's choice. */
export function startRole(start: PodStart, surroundings: PodSurroundings): RolePod {
  const { images = {}, addresses = new Map() } = surroundings;
  rewriteMounts(start, addresses);
  const script = images[start.container.image];
  const preload = surroundings.preloadFor?.(start);
  const own = [...(preload === undefined ? [] : ["--import", preload]), MAIN, ...start.args];
  const program = script === undefined ? own : ["--import", FROM_SOURCE, script];
  const spawned = spawnPodProcess({
    command: process.execPath,
    args: program,
    env: { ...start.env, ...environment(start, surroundings) },
    readyzUrl: NOT_LISTENING,
  });
  return new Running(start, spawned);
}

/** Ports of the system's choice, and the API server of the test. */
function environment(start: PodStart, { cluster, serverFor }: PodSurroundings): Record<string, string> {
  const { container, mounts } = start;
  const role = container.name.toUpperCase();
  const account = mounts.get(ACCOUNT) ?? "";
  return {
    [`DAVIT_${role}_ADMIN_PORT`]: "0",
    [`DAVIT_${role}_ADDRESS`]: "127.0.0.1",
    ...(role === "GATEWAY" ? { DAVIT_GATEWAY_PORT: "0", DAVIT_GATEWAY_API_PORT: "0" } : {}),
    DAVIT_LOG_LEVEL: "debug",
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    DAVIT_KUBERNETES_SERVER: serverFor?.(start) ?? cluster.url,
    DAVIT_KUBERNETES_TOKEN_FILE: join(account, "token"),
    DAVIT_KUBERNETES_CA_FILE: join(account, "ca.crt"),
  };
}

/** Paths of mounts and addresses of the cluster also stand inside of mounted files. */
function rewriteMounts({ mounts }: PodStart, addresses: ReadonlyMap<string, string>): void {
  for (const [path, folder] of mounts) {
    if (path === ACCOUNT || !path.startsWith("/etc/davit")) continue;
    for (const file of readdirSync(folder).map((name) => join(folder, name))) {
      if (!statSync(file).isFile() || file.endsWith(".gz")) continue;
      let text = relocate(readFileSync(file, "utf8"), mounts);
      for (const [there, here] of addresses) text = text.replaceAll(there, here);
      writeFileSync(file, text);
    }
  }
}

/** What a role logs once it listens. */
interface Started {
  readonly port?: number;
  readonly adminPort?: number;
  readonly identity?: string;
}

class Running implements RolePod {
  readonly name: string;
  readonly role: string;
  readonly #spawned: SpawnedPodProcess;
  #started: Started | undefined;
  #stopping: Promise<void> | undefined;

  constructor({ pod, container }: PodStart, spawned: SpawnedPodProcess) {
    this.name = pod.metadata.name;
    this.role = container.name;
    this.#spawned = spawned;
  }

  get child(): SpawnedPodProcess["child"] {
    return this.#spawned.child;
  }

  get ended(): Promise<unknown> {
    return this.#spawned.ended;
  }

  get identity(): string | undefined {
    return this.#listening()?.identity;
  }

  get url(): string | undefined {
    return urlOf(this.#listening()?.port);
  }

  get adminUrl(): string | undefined {
    return urlOf(this.#listening()?.adminPort);
  }

  get readyzUrl(): string {
    const admin = this.adminUrl;
    return admin === undefined ? NOT_LISTENING : `${admin}/readyz`;
  }

  log(): string {
    return this.#spawned.log();
  }

  said(message: string): boolean {
    return this.log().includes(`"msg":"${message}`);
  }

  stop(graceSeconds: number): Promise<void> {
    this.#stopping ??= this.#spawned.stop(graceSeconds);
    return this.#stopping;
  }

  #listening(): Started | undefined {
    if (this.#started !== undefined) return this.#started;
    const line = this.log()
      .split("\n")
      .find((text) => STARTED.test(text));
    // Kept, as the log loses its start.
    if (line !== undefined) this.#started = JSON.parse(line) as Started;
    return this.#started;
  }
}

function urlOf(port: number | undefined): string | undefined {
  return port === undefined ? undefined : `http://127.0.0.1:${port}`;
}
