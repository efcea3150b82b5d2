import { spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * What the search and the installation see of the machine; tests hand in another one.
 * @typedef {object} Machine
 * @property {NodeJS.ProcessEnv} env
 * @property {string} platform as `process.platform`
 * @property {boolean} isRoot
 * @property {string} osRelease text of /etc/os-release, empty elsewhere
 * @property {(command: string, args: string[]) => { status: number | null, stdout: string, stderr: string }} run
 */

/** @returns {Machine} */
export function thisMachine() {
  let osRelease = "";
  try {
    osRelease = readFileSync("/etc/os-release", "utf8");
  } catch {
    // Not a Linux: then nothing reads it.
  }
  return {
    env: process.env,
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    osRelease,
    run(command, args) {
      const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
      const { status, stdout, stderr } = spawnSync(command, args, {
        env,
        stdio: ["ignore", "pipe", "pipe"],
        encoding: "utf8",
        maxBuffer: 64 * 1024 * 1024,
      });
      return { status, stdout: stdout ?? "", stderr: stderr ?? "" };
    },
  };
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Every program of that name on PATH.
 * @param {Machine} machine
 * @param {string} name
 */
export function onPath(machine, name) {
  const folders = (machine.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).filter(isExecutable);
}

/** @param {Machine} machine */
export function isDebian(machine) {
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(machine.osRelease) && onPath(machine, "apt-get").length > 0;
}
