import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { missingForCeph } from "../../../tools/setup/ceph.mjs";
import { Program, tail } from "../control-plane/program.ts";
import { Watchdog } from "../control-plane/watchdog.ts";
import { heldPort } from "../held-port.ts";
import type { ObjectStoreLocation } from "./location.ts";

const run = promisify(execFile);
const READY_MS = 60_000;
const COMMAND_MS = 60_000;
/** A port found free may be taken before its server binds it. */
const ATTEMPTS = 2;

interface Place {
  readonly dir: string;
  readonly fsid: string;
  readonly monitor: number;
  readonly gateway: number;
}

/** A Ceph object gateway of the tests, on 127.0.0.1. */
export interface CephGateway extends ObjectStoreLocation {
  /** The last that its servers said. */
  logs(): string;
  /** Ends everything and removes the files. */
  stop(): Promise<void>;
}

/** What the servers are started with: one monitor, one store in memory, no manager, no replicas, keys by cephx (radosgw-admin hangs without). */
function configuration({ dir, fsid, monitor, gateway }: Place): string {
  const sections = {
    global: {
      fsid,
      mon_host: `v2:127.0.0.1:${monitor}`,
      mon_initial_members: "a",
      public_addr: "127.0.0.1",
      cluster_addr: "127.0.0.1",
      ms_bind_msgr1: false,
      auth_cluster_required: "cephx",
      auth_service_required: "cephx",
      auth_client_required: "cephx",
      auth_allow_insecure_global_id_reclaim: true,
      keyring: `${dir}/keyring`,
      run_dir: dir,
      // A path of a socket has 107 characters at most.
      admin_socket: "",
      log_to_file: false,
      log_to_stderr: true,
      // Errors only.
      debug_rgw: "0/0",
      debug_osd: "0/0",
      debug_mon: "0/0",
      mon_cluster_log_to_file: false,
      mon_data: `${dir}/mon`,
      mon_allow_pool_size_one: true,
      mon_warn_on_pool_no_redundancy: false,
      mon_data_avail_crit: 1,
      mon_data_avail_warn: 2,
      osd_data: `${dir}/osd`,
      osd_objectstore: "memstore",
      memstore_device_bytes: 2_147_483_648,
      osd_memory_target: 939_524_096,
      osd_op_num_shards: 2,
      osd_op_num_threads_per_shard: 1,
      osd_crush_chooseleaf_type: 0,
      osd_pool_default_size: 1,
      osd_pool_default_min_size: 1,
      osd_pool_default_pg_num: 4,
      osd_pool_default_pgp_num: 4,
      osd_pool_default_pg_autoscale_mode: "off",
    },
    "client.rgw.a": {
      rgw_frontends: `beast endpoint=127.0.0.1:${gateway}`,
      rgw_data: `${dir}/rgw`,
      rgw_dns_name: "localhost",
      rgw_enable_gc_threads: false,
      rgw_enable_lc_threads: false,
      rgw_thread_pool_size: 64,
    },
  };
  const lines = Object.entries(sections).flatMap(([name, settings]) => [
    `[${name}]`,
    ...Object.entries(settings).map(([key, value]) => `${key} = ${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}

/** What each of them may do. */
const ENTITIES: Readonly<Record<string, readonly string[]>> = {
  "mon.": ["mon", "allow *"],
  "client.admin": ["mon", "allow *", "osd", "allow *"],
  "osd.0": ["mon", "allow profile osd", "osd", "allow *"],
  "client.rgw.a": ["mon", "allow rw", "osd", "allow rwx"],
};

async function makeKeyring(file: string): Promise<void> {
  let isFirst = true;
  for (const [name, rights] of Object.entries(ENTITIES)) {
    const caps = Array.from({ length: rights.length / 2 }, (_, index) => [
      "--cap",
      ...rights.slice(2 * index, 2 * index + 2),
    ]);
    const create = isFirst ? ["--create-keyring"] : [];
    await run("ceph-authtool", [...create, file, "--gen-key", "-n", name, ...caps.flat()], { timeout: COMMAND_MS });
    isFirst = false;
  }
}

class Ceph implements CephGateway {
  readonly endpoint: string;
  readonly accessKeyId = "davit-tests";
  readonly secretAccessKey = randomBytes(20).toString("hex");
  readonly #place: Place;
  readonly #conf: readonly string[];
  readonly #watchdog: Watchdog;
  readonly #programs: Program[] = [];

  constructor(place: Place) {
    this.#place = place;
    this.endpoint = `http://127.0.0.1:${place.gateway}`;
    this.#conf = ["-c", join(place.dir, "ceph.conf")];
    this.#watchdog = new Watchdog(place.dir);
  }

  async start(): Promise<void> {
    const { dir } = this.#place;
    for (const folder of ["mon", "osd", "rgw"]) mkdirSync(join(dir, folder));
    writeFileSync(join(dir, "ceph.conf"), configuration(this.#place));
    await makeKeyring(join(dir, "keyring"));
    await this.#startMonitor();
    await this.#startStore();
    await this.#makeUser();
    const gateway = this.#program("radosgw", ["-f", "-n", "client.rgw.a"]);
    await gateway.until(async () => (await fetch(this.endpoint)).ok, READY_MS);
  }

  logs(): string {
    return this.#programs.map((program) => `${program.name}: ${tail(program.logFile, 4_096)}`).join("\n");
  }

  async stop(): Promise<void> {
    // From the outside in; nothing of it is kept, so nothing is worth an orderly end.
    for (const program of this.#programs.toReversed()) await program.end("SIGKILL");
    await this.#watchdog.release();
  }

  async #startMonitor(): Promise<void> {
    const { dir, fsid, monitor } = this.#place;
    const map = join(dir, "monmap");
    const address = `[v2:127.0.0.1:${monitor}]`;
    await this.#run("monmaptool", ["--create", "--addv", "a", address, "--fsid", fsid, map]);
    await this.#run("ceph-mon", ["--mkfs", "-i", "a", "--monmap", map, "--keyring", join(dir, "keyring")]);
    const program = this.#program("ceph-mon", ["-f", "-i", "a"]);
    await program.until(async () => (await this.#ceph("mon", "stat")).includes("quorum"), READY_MS);
  }

  async #startStore(): Promise<void> {
    const uuid = randomUUID();
    await this.#ceph("osd", "new", uuid);
    await this.#run("ceph-osd", ["-i", "0", "--mkfs", "--osd-uuid", uuid]);
    const program = this.#program("ceph-osd", ["-f", "-i", "0"]);
    await program.until(async () => /\b1 up\b/.test(await this.#ceph("osd", "stat")), READY_MS);
  }

  async #makeUser(): Promise<void> {
    const keys = ["--access-key", this.accessKeyId, "--secret-key", this.secretAccessKey];
    await this.#run("radosgw-admin", [
      "-n",
      "client.rgw.a",
      "user",
      "create",
      "--uid=tests",
      "--display-name=tests",
      ...keys,
    ]);
  }

  async #run(command: string, args: readonly string[]): Promise<string> {
    const own = command === "monmaptool" ? args : [...args, ...this.#conf];
    const { stdout } = await run(command, own, { timeout: COMMAND_MS });
    return stdout;
  }

  async #ceph(...args: readonly string[]): Promise<string> {
    return this.#run("ceph", [...args, "--connect-timeout", "5"]);
  }

  /** Starts a server, in the foreground of a process group of its own. */
  #program(name: string, args: readonly string[]): Program {
    const program = new Program(name, name, [...args, ...this.#conf], join(this.#place.dir, `${name}.log`));
    program.start();
    this.#programs.push(program);
    this.#watchdog.guard(this.#programs.flatMap(({ pid }) => pid ?? []));
    return program;
  }
}

/**
 * Starts one and resolves once it answers, after about ten seconds. It ends with this process, however that ends. Test files share the one of the
 * run, see `sharedObjectStore`.
 * @throws Error with a server's log when it does not come up, or that says what is missing
 */
export async function startCephGateway(): Promise<CephGateway> {
  const missing = missingForCeph();
  if (missing !== undefined) throw new Error(missing);
  for (let attempt = 1; ; attempt++) {
    const [monitor, gateway] = await Promise.all([heldPort(), heldPort()]);
    const dir = mkdtempSync(join(tmpdir(), "davit-ceph-"));
    const ceph = new Ceph({ dir, fsid: randomUUID(), monitor, gateway });
    try {
      await ceph.start();
      return ceph;
    } catch (error) {
      await ceph.stop();
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
