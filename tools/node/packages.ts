import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Debian package → a program or file of it that is needed. */
const NEEDED: Readonly<Record<string, string>> = {
  buildah: "buildah",
  "busybox-static": "/bin/busybox",
  containerd: "containerd",
  "containernetworking-plugins": "/usr/lib/cni/bridge",
  curl: "curl",
  iproute2: "ip",
  nftables: "nft",
  openssl: "openssl",
  runc: "runc",
  "util-linux": "nsenter",
};

/** Hierarchies of cgroup v1 that the kubelet needs; cgroup v2 alone has none of them. */
const HIERARCHIES = ["cpu", "cpuacct", "cpuset", "memory", "pids"];

/**
 * What makes this machine unfit for the node, whatever is installed.
 *
 * @returns undefined when nothing does
 */
export function unfit(): string | undefined {
  if (process.platform !== "linux") return "it needs Linux";
  if (process.getuid?.() !== 0) return "it needs root: namespaces, mounts and cgroups are made";
  const missing = HIERARCHIES.filter((name) => !existsSync(join("/sys/fs/cgroup", name, "cgroup.procs")));
  if (missing.length > 0) return `it needs cgroup v1 or hybrid, and there is no /sys/fs/cgroup/${missing[0]}`;
  return undefined;
}

/**
 * Installs what is missing with apt.
 *
 * @param say one line when there is something to do
 * @returns what is missing and cannot be installed
 */
export function preparePackages(say: (line: string) => void): string | undefined {
  const missing = missingPackages();
  if (missing.length === 0) return undefined;
  if (!isDebian()) return `it needs ${missing.join(", ")} (names of Debian's packages): install them`;
  say(`installing Debian packages: ${missing.join(" ")} (apt-get install); their services are not used`);
  if (!apt("install", "-y", "-q", "--no-install-recommends", ...missing)) {
    apt("update", "-q");
    apt("install", "-y", "-q", "--no-install-recommends", ...missing);
  }
  const left = missingPackages();
  return left.length === 0 ? undefined : `apt-get install ${left.join(" ")} failed: install them by hand`;
}

function missingPackages(): string[] {
  return Object.entries(NEEDED)
    .filter(([name, wanted]) => !isThere(wanted) || (name === "busybox-static" && isDynamic(wanted)))
    .map(([name]) => name);
}

function isThere(wanted: string): boolean {
  if (wanted.startsWith("/")) return existsSync(wanted);
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.some((folder) => folder !== "" && existsSync(join(folder, wanted)));
}

/** Debian's package busybox has the same path, and needs libraries. */
const isDynamic = (program: string) => spawnSync("ldd", [program]).status === 0;

function isDebian(): boolean {
  return (
    existsSync("/usr/bin/apt-get") && /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync("/etc/os-release", "utf8"))
  );
}

function apt(...args: string[]): boolean {
  // Debian starts the services of what it installs, unless this policy says no.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
  return spawnSync("apt-get", args, { env, stdio: "ignore" }).status === 0;
}
