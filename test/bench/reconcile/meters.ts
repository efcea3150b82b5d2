import { readFileSync } from "node:fs";
import type { Cluster } from "../../support/control-plane/access.ts";
import type { RoleProcess } from "../../support/roles/role-process.ts";

const MB = 1_000_000;
/** Ticks a second of the times in /proc/PID/stat: USER_HZ, 100 on every Linux that Node runs on. */
const USER_HZ = 100;

/** Sum of the samples of a metric in the Prometheus text format whose labels pass. */
export function sumOf(text: string, metric: string, passes: (labels: string) => boolean = () => true): number {
  const lines = text.split("\n").flatMap((line) => {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    return match?.[1] === metric && passes(match[2] ?? "") ? [Number(match[3])] : [];
  });
  return lines.reduce((sum, value) => sum + value, 0);
}

/** Requests that a role has sent to the API server so far and that were no reads. */
export async function writesOf(role: RoleProcess): Promise<number> {
  const text = await (await fetch(`${role.admin}/metrics`)).text();
  return sumOf(text, "rest_client_requests_total", (labels) => !labels.includes('method="GET"'));
}

/** Bytes in use of etcd's database, MB: everything written since the last compaction. */
export async function etcdMb({ etcdUrl }: Cluster): Promise<number> {
  const text = await (await fetch(`${etcdUrl}/metrics`)).text();
  return sumOf(text, "etcd_mvcc_db_total_size_in_use_in_bytes") / MB;
}

/** Most resident memory that a process ever had, MiB (`VmHWM`, proc_pid_status(5)). */
export function peakRssMib(pid: number): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1_024;
}

/** CPU seconds that a process has used, user and system (proc_pid_stat(5), fields 14 and 15). */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / USER_HZ;
}
