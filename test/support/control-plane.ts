import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { heldPort } from "./held-port.ts";
import { adminKubeconfig, Cluster, kubeconfig } from "./control-plane/access.ts";
import { findPrograms, type ProgramName } from "./control-plane/binaries.ts";
import { installCrds } from "./control-plane/crds.ts";
import {
  apiServerFlags,
  type ControlPlaneOptions,
  controllerManagerFlags,
  etcdFlags,
  type Place,
} from "./control-plane/flags.ts";
import { createPki, issueClient } from "./control-plane/pki.ts";
import { Program } from "./control-plane/program.ts";
import { Watchdog } from "./control-plane/watchdog.ts";

export type { ControlPlaneOptions } from "./control-plane/flags.ts";

const READY_MS = 60_000;
const DRAIN_MS = 5_000;
/** A port found free may be taken before its server binds it. */
const ATTEMPTS = 2;

/** A Kubernetes control plane of a test's own: etcd, kube-apiserver and kube-controller-manager on 127.0.0.1, without nodes. */
export class ControlPlane extends Cluster {
  readonly #programs: Readonly<Record<ProgramName, Program>>;
  readonly #watchdog: Watchdog;
  readonly #options: ControlPlaneOptions;
  #isStopped = false;

  constructor(place: Place, folder: string, watchdog: Watchdog, options: ControlPlaneOptions) {
    super({ url: urlOf(place), dir: place.dir, etcdUrl: etcdUrlOf(place) });
    const program = (name: ProgramName, flags: readonly string[]) =>
      new Program(name, join(folder, name), flags, join(place.dir, `${name}.log`));
    this.#programs = {
      etcd: program("etcd", etcdFlags(place)),
      "kube-apiserver": program("kube-apiserver", apiServerFlags(place, options)),
      "kube-controller-manager": program(
        "kube-controller-manager",
        controllerManagerFlags(place, adminKubeconfig(place.dir)),
      ),
    };
    this.#watchdog = watchdog;
    this.#options = options;
  }

  /** Process id of a server, undefined while it does not run. */
  pid(program: ProgramName): number | undefined {
    return this.#programs[program].pid;
  }

  /** Starts what is not running, and waits until everything answers. */
  async start(): Promise<void> {
    const { etcd, "kube-controller-manager": controllerManager } = this.#programs;
    etcd.start();
    this.#guard();
    await etcd.until(async () => (await fetch(`${this.etcdUrl}/health`)).ok, READY_MS);
    await this.startApiServer();
    // Before the controller manager, whose garbage collector looks for new kinds only every 30 s.
    if (this.#options.crds !== undefined) await installCrds(this, this.#options.crds);
    if (this.#options.controllerManager === false) return;
    controllerManager.start();
    this.#guard();
    const path = "/api/v1/namespaces/default/serviceaccounts/default";
    await controllerManager.until(async () => (await this.admin.request("GET", path)).status === 200, READY_MS);
  }

  /**
   * Ends the API server alone; etcd keeps everything.
   * @param signal SIGTERM drains requests first (5 s at most, as watches on etcd itself would keep it), SIGKILL is a crash
   */
  async stopApiServer(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.#programs["kube-apiserver"].end(signal, DRAIN_MS);
    this.#guard();
  }

  /** Starts the API server on its old port and waits until it is ready. */
  async startApiServer(): Promise<void> {
    const apiServer = this.#programs["kube-apiserver"];
    apiServer.start();
    this.#guard();
    const isReady = async () =>
      (await this.admin.request("GET", "/readyz")).status === 200 &&
      (await this.admin.request("GET", "/api/v1/namespaces/default")).status === 200;
    await apiServer.until(isReady, READY_MS);
  }

  /** Stops the API server where it stands (SIGSTOP): connections stay open, also new ones, and nothing answers. */
  pause(): void {
    this.#programs["kube-apiserver"].signal("SIGSTOP");
  }

  /** Lets a paused API server go on (SIGCONT). */
  resume(): void {
    this.#programs["kube-apiserver"].signal("SIGCONT");
  }

  /** Ends everything and removes the files. May be called twice. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.close();
    // From the outside in: each would otherwise wait for, or complain about, the one that it talks to.
    for (const name of ["kube-controller-manager", "kube-apiserver", "etcd"] as const) await this.#programs[name].end();
    await this.#watchdog.release();
  }

  #guard(): void {
    const pids = Object.values(this.#programs).map(({ pid }) => pid);
    this.#watchdog.guard(pids.filter((pid) => pid !== undefined));
  }
}

const urlOf = ({ apiServer }: Place) => `https://127.0.0.1:${apiServer}`;
const etcdUrlOf = ({ etcd }: Place) => `http://127.0.0.1:${etcd}`;

/** Makes the folder, the keys and the administrator's kubeconfig. */
async function preparePlace(): Promise<Place> {
  const dir = mkdtempSync(join(tmpdir(), "davit-plane-"));
  try {
    const pki = join(dir, "pki");
    mkdirSync(pki);
    const ports = Promise.all([heldPort(), heldPort(), heldPort(), heldPort()]);
    await createPki(pki);
    const { certificate, key } = await issueClient(pki, { user: "admin", groups: ["system:masters"] });
    const [etcd, etcdPeer, apiServer, controllerManager] = await ports;
    const place = { dir, etcd, etcdPeer, apiServer, controllerManager };
    await writeFile(join(pki, "admin.crt"), certificate);
    await writeFile(join(pki, "admin.key"), key, { mode: 0o600 });
    const ca = await readFile(join(pki, "serving-ca.crt"), "utf8");
    writeFileSync(adminKubeconfig(dir), kubeconfig(urlOf(place), ca, { certificate, key }), { mode: 0o600 });
    return place;
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Starts a control plane and resolves once it is ready: `/readyz`, namespace `default` and its default service account. RBAC is on.
 * It takes about 6 s and 500 MB, so tests share the one of the run (`sharedCluster`) and start their own only to break it or to
 * have other flags. It ends with this process, however that ends.
 * @throws Error with the server's log when one does not come up; Error that says what is missing
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const folder = await findPrograms((line) => process.stderr.write(`control-plane: ${line}\n`));
  for (let attempt = 1; ; attempt++) {
    const place = await preparePlace();
    const plane = new ControlPlane(place, folder, new Watchdog(place.dir), options);
    try {
      await plane.start();
      return plane;
    } catch (error) {
      await plane.stop();
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
