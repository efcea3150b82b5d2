import { isDebian, onPath, thisMachine } from "./machine.mjs";

const BINARIES = ["redis-server", "valkey-server"];
const OLDEST_MAJOR = 7;

/** @typedef {import("./machine.mjs").Machine} Machine */

/**
 * Major version by `--version`: "Redis server v=7.0.15 sha=…", "Valkey server v=8.1.1 sha=…".
 * @param {Machine} machine
 * @param {string} binary
 * @returns {{ major: number, version: string | undefined }} major 0 and no version when it is no such server, or missing
 */
function versionOf(machine, binary) {
  const found = /\bv=((\d+)[\w.-]*)/.exec(machine.run(binary, ["--version"]).stdout);
  return { major: Number(found?.[2] ?? 0), version: found?.[1] };
}

/**
 * Looks for a server that is new enough: `$REDIS_SERVER_BIN` alone when set, else every match on PATH.
 * @param {Machine} machine
 * @returns {{ binary: string } | { found: string | undefined }} else what was found but cannot be used
 */
export function findServer(machine) {
  const named = machine.env["REDIS_SERVER_BIN"];
  const candidates = named ? [named] : BINARIES.flatMap((name) => onPath(machine, name));
  /** @type {string | undefined} */
  let found;
  for (const binary of candidates) {
    const { major, version } = versionOf(machine, binary);
    if (major >= OLDEST_MAJOR) return { binary };
    found ??= version === undefined ? `${binary} is none` : `${binary} is version ${version}`;
  }
  return { found };
}

/** @type {[pattern: RegExp, command: string][]} what to run as root, by the ID lines of /etc/os-release */
const INSTALL_BY_DISTRIBUTION = [
  [/^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m, "apt-get install redis-server"],
  [/^ID(_LIKE)?=.*\b(fedora|rhel|centos)\b/m, "dnf install valkey"],
  [/^ID(_LIKE)?=.*\balpine\b/m, "apk add valkey"],
  [/^ID(_LIKE)?=.*\barch\b/m, "pacman -S valkey"],
  [/^ID(_LIKE)?=.*\bsuse\b/m, "zypper install valkey"],
];

/**
 * What a person must do here.
 * @param {Machine} machine
 */
function howToInstall(machine) {
  if (machine.platform === "darwin") return "run: brew install redis";
  const known = INSTALL_BY_DISTRIBUTION.find(([pattern]) => pattern.test(machine.osRelease))?.[1];
  if (known === undefined) return "install one";
  if (machine.isRoot) return `run: ${known}`;
  return onPath(machine, "sudo").length > 0 ? `run: sudo ${known}` : `run as root: ${known}`;
}

/**
 * One line: what is missing and how to get it.
 * @param {Machine} machine
 * @param {string | undefined} found a server that cannot be used
 */
export function advice(machine, found) {
  const need = `a redis-server or valkey-server of version ${OLDEST_MAJOR} or later is needed`;
  const state = found === undefined ? "none is on PATH" : found;
  if (machine.env["REDIS_SERVER_BIN"]) {
    return `${need}, but REDIS_SERVER_BIN is set and ${state}; correct it or unset it`;
  }
  return `${need}, but ${state}; ${howToInstall(machine)} (or set REDIS_SERVER_BIN to the program's path)`;
}

/**
 * First package apt could install in a version that is new enough.
 * @param {Machine} machine
 */
function aptCandidate(machine) {
  return BINARIES.find((name) => {
    const { stdout } = machine.run("apt-cache", ["policy", name]);
    // "Candidate: 5:7.0.15-1~deb12u10": the part before the colon is the packaging's epoch.
    return Number(/Candidate: (?:\d+:)?(\d+)/.exec(stdout)?.[1] ?? 0) >= OLDEST_MAJOR;
  });
}

/**
 * Installs the server with apt. The package lists are fetched only when they name no usable version, or an outdated file.
 * @param {Machine} machine root on Debian or Ubuntu
 * @param {(line: string) => void} say
 * @returns {string | undefined} what went wrong
 */
function installWithApt(machine, say) {
  const update = () => {
    say("fetching the package lists (apt-get update)");
    machine.run("apt-get", ["update", "-q"]);
  };
  let name = aptCandidate(machine);
  if (name === undefined) {
    update();
    name = aptCandidate(machine);
  }
  if (name === undefined) return `apt knows no redis-server or valkey-server of version ${OLDEST_MAJOR} or later`;
  say(`installing the Debian package ${name} (apt-get install); its own service is not used here`);
  const install = () => machine.run("apt-get", ["install", "-y", "-q", "--no-install-recommends", name]);
  let done = install();
  if (done.status !== 0) {
    update();
    done = install();
  }
  return done.status === 0 ? undefined : `apt-get install ${name} failed: ${done.stderr.trim().split("\n").at(-1)}`;
}

/**
 * Finds a Redis or Valkey server; as root on Debian or Ubuntu it installs one.
 * @param {(line: string) => void} say
 * @param {Machine} machine
 * @returns {{ binary: string, problem?: undefined } | { problem: string }}
 */
export function prepareRedis(say, machine = thisMachine()) {
  const first = findServer(machine);
  if ("binary" in first) return first;
  const mayInstall = machine.isRoot && !machine.env["REDIS_SERVER_BIN"] && isDebian(machine);
  if (!mayInstall) return { problem: advice(machine, first.found) };
  const failure = installWithApt(machine, say);
  if (failure !== undefined) return { problem: `${failure}; ${advice(machine, first.found)}` };
  const second = findServer(machine);
  return "binary" in second ? second : { problem: advice(machine, second.found) };
}
