import { type ChildProcess, spawn } from "node:child_process";

const LOG_LIMIT_CHARS = 64 * 1024;

/** The process behind a pod, as the fake kubelet sees it. */
export interface PodProcess {
  /** Answers 200 while the pod is to be Ready. */
  readonly readyzUrl: string;
  /** Resolves when it ended by itself; the container is then started again, as a Deployment's pods are. Never, when absent. */
  readonly ended?: Promise<unknown>;
  /** Ends it: asks, waits up to so many seconds, then forces. Resolves once it is gone. */
  stop(graceSeconds: number): Promise<void>;
}

/** What `spawnPodProcess` runs. */
export interface PodCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly readyzUrl: string;
}

/** A program of this machine behind a pod. */
export interface SpawnedPodProcess extends PodProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  /** Last 64 KiB of what it has written. */
  log(): string;
}

// Whatever a failed test leaves behind goes with the test's process.
const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts a program with no environment but its own and PATH; SIGTERM asks it to end, SIGKILL forces it. */
export function spawnPodProcess({ command, args, env, readyzUrl }: PodCommand): SpawnedPodProcess {
  const child = spawn(command, [...args], {
    env: { PATH: process.env["PATH"] ?? "", NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      text = (text + chunk).slice(-LOG_LIMIT_CHARS);
    });
  }
  const ended = new Promise<void>((resolve) => {
    const gone = (error?: unknown) => {
      if (error instanceof Error) text += error.message;
      children.delete(child);
      resolve();
    };
    child.once("exit", () => gone());
    child.once("error", gone);
  });
  const stop = async (graceSeconds: number) => {
    child.kill("SIGTERM");
    const hardEnd = setTimeout(() => child.kill("SIGKILL"), graceSeconds * 1000);
    await ended;
    clearTimeout(hardEnd);
  };
  return { child, readyzUrl, ended, stop, log: () => text };
}
