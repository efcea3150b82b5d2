// node tools/control-plane/build.mjs: builds Kubernetes' own programs once into a cache of this user, and prints the folder that
// holds them (etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy, coredns, kubectl).
// Only tests use them. No dependency and no recent syntax, as in tools/setup.mjs.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const SOURCE = dirname(fileURLToPath(import.meta.url));
const PROGRAM = "knode";
/** The names under which the one program acts. */
export const LINKS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "coredns",
  "kubectl",
];
/** By the `go` line of go.mod. */
const OLDEST_GO = { major: 1, minor: 24 };
const LOCK_POLL_MS = 500;

/** @param {string} name */
const source = (name) => readFileSync(join(SOURCE, name), "utf8");

/** Linker flags. Without the version ones /version says v0.0.0-master, and checks of version skew fail. */
function linkerFlags() {
  const version = /^\s*k8s\.io\/kubernetes (v1\.(\d+)\.\d+)$/m.exec(source("go.mod"));
  if (version === null) throw new Error("tools/control-plane/go.mod names no version of k8s.io/kubernetes");
  const [, full, minor] = version;
  const stamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((name) => [
    `-X ${name}.gitVersion=${full}`,
    `-X ${name}.gitMajor=1`,
    `-X ${name}.gitMinor=${minor}`,
    `-X ${name}.gitTreeState=clean`,
  ]);
  return ["-s", "-w", ...stamps].join(" ");
}

/**
 * Folder of the programs for the present sources and this machine; it exists once they are built.
 * @param {NodeJS.ProcessEnv} env
 */
export function controlPlaneFolder(env = process.env) {
  const cache = env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const hash = createHash("sha256");
  for (const part of [...["main.go", "go.mod", "go.sum"].map(source), linkerFlags(), process.platform, process.arch]) {
    hash.update(`${part.length}:${part}`);
  }
  return join(cache, "davit", "control-plane", hash.digest("hex").slice(0, 16));
}

/**
 * @param {string} folder
 */
export function isBuilt(folder) {
  return existsSync(join(folder, PROGRAM));
}

/**
 * Whether Go is here in a version that can build the programs.
 * @returns {string | undefined} else what is missing
 */
export function missingGo() {
  const { status, stdout } = spawnSync("go", ["env", "GOVERSION"], { cwd: SOURCE, encoding: "utf8", stdio: "pipe" });
  const need = `Go ${OLDEST_GO.major}.${OLDEST_GO.minor} or later`;
  if (status !== 0) return `${need} is needed, and there is no go on PATH`;
  const found = /go(\d+)\.(\d+)/.exec(stdout);
  const [major, minor] = [Number(found?.[1] ?? 0), Number(found?.[2] ?? 0)];
  const isEnough = major > OLDEST_GO.major || (major === OLDEST_GO.major && minor >= OLDEST_GO.minor);
  return isEnough ? undefined : `${need} is needed, and go on PATH is ${stdout.trim()}`;
}

/**
 * Takes the lock file, waiting for another process that has it. A lock whose process is gone is taken over.
 * @param {string} file
 * @param {(line: string) => void} say
 * @param {() => boolean} isDone ends the waiting
 * @returns {Promise<boolean>} false: the other process did the work
 */
async function lock(file, say, isDone) {
  for (let isFirst = true; ; isFirst = false) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return true;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
    if (isDone()) return false;
    if (isStale(file)) rmSync(file, { force: true });
    else if (isFirst) say("another process builds Kubernetes' programs; waiting for it");
    await sleep(LOCK_POLL_MS);
  }
}

/** @param {string} file */
function isStale(file) {
  try {
    const pid = Number(readFileSync(file, "utf8"));
    // Created a moment ago and not yet written, or left empty by a full disk.
    if (pid === 0) return Date.now() - statSync(file).mtimeMs > 10_000;
    return !process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "ESRCH";
  }
}

/**
 * @param {string} folder where the program goes
 * @param {string} log file for what Go says
 * @returns {Promise<number>} Go's exit code
 */
function compile(folder, log) {
  const output = openSync(log, "w");
  const child = spawn(
    "go",
    ["build", "-mod=readonly", "-trimpath", "-ldflags", linkerFlags(), "-o", join(folder, PROGRAM), "."],
    {
      cwd: SOURCE,
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" },
      stdio: ["ignore", output, output],
    },
  );
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  }).finally(() => closeSync(output));
}

/**
 * Builds the programs unless they are there. Two processes do not build twice, and a folder that exists is complete.
 * @param {(line: string) => void} say one line when there is something to do
 * @returns {Promise<string>} the folder
 * @throws Error with what is missing, or with the end of Go's output
 */
export async function buildControlPlane(say) {
  const folder = controlPlaneFolder();
  if (isBuilt(folder)) return folder;
  const problem = missingGo();
  if (problem !== undefined) throw new Error(problem);
  mkdirSync(dirname(folder), { recursive: true });
  const lockFile = `${folder}.lock`;
  if (!(await lock(lockFile, say, () => isBuilt(folder)))) return folder;
  const temporary = `${folder}.${process.pid}.tmp`;
  const cleanUp = () => {
    rmSync(temporary, { recursive: true, force: true });
    rmSync(lockFile, { force: true });
  };
  process.once("exit", cleanUp);
  try {
    if (isBuilt(folder)) return folder;
    say(
      `building Kubernetes for the cluster tests, once: 7 to 13 minutes on 2 cores, less with a warm Go cache (${folder})`,
    );
    mkdirSync(temporary, { recursive: true });
    const log = `${folder}.log`;
    const code = await compile(temporary, log);
    if (code !== 0) {
      const end = readFileSync(log, "utf8").trim().split("\n").slice(-20).join("\n");
      throw new Error(`go build ended with exit code ${code}; all it said is in ${log}, which ends with:\n${end}`);
    }
    for (const name of LINKS) symlinkSync(PROGRAM, join(temporary, name));
    renameSync(temporary, folder);
    return folder;
  } finally {
    process.removeListener("exit", cleanUp);
    cleanUp();
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    console.log(await buildControlPlane((line) => process.stderr.write(`control-plane: ${line}\n`)));
  } catch (error) {
    process.stderr.write(`control-plane: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
