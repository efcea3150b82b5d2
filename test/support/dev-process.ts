import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { RedisStore } from "../../src/custody/redis/store.ts";
import type { DevState } from "../../src/cli/dev/state.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const START_TIMEOUT_MS = 30_000;

/** How a program ended, with all it wrote. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A `davit` that runs. */
export interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it has written so far. */
  stdout(): string;
  stderr(): string;
}

/**
 * Starts `davit ARGS` from the source tree, as `npm run -s davit` does.
 * @param detached as the leader of a process group, which a terminal's Ctrl-C reaches as a whole
 */
export function startDavit(args: readonly string[], detached = false): Program {
  const env = { ...process.env, DAVIT_LOG_LEVEL: "info", NO_COLOR: "1" };
  const child = spawn(process.execPath, [MAIN, ...args], { env, detached });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8");
    child[name].on("data", (chunk: string) => {
      text[name] += chunk;
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...text }));
  });
  return { child, ended, stdout: () => text.stdout, stderr: () => text.stderr };
}

/** Runs `davit ARGS` to its end. */
export function davit(...args: readonly string[]): Promise<Ended> {
  return startDavit(args).ended;
}

/** A directory with manifests and data of one test. */
export class Workspace {
  readonly dir = mkdtempSync(join(tmpdir(), "davit-dev-test-"));
  readonly manifests = join(this.dir, "manifests.yaml");
  readonly data = join(this.dir, "data");
  readonly #running: Dev[] = [];

  /** Writes the manifest file in one go, as an editor would. */
  write(manifests: string): void {
    writeFileSync(this.manifests, manifests);
  }

  /** What the running dev says of itself. */
  state(): DevState {
    return JSON.parse(readFileSync(join(this.data, "dev.json"), "utf8")) as DevState;
  }

  /** Starts `davit dev` over the manifests on free ports, and waits until it says where to post. */
  async dev(options: { readonly detached?: boolean; readonly args?: readonly string[] } = {}): Promise<Dev> {
    const flags = [
      "-f",
      this.manifests,
      "--data-dir",
      this.data,
      "--port",
      "0",
      "--admin-port",
      "0",
      "--api-port",
      "0",
      "--console-port",
      "0",
    ];
    const program = startDavit(["dev", ...flags, ...(options.args ?? [])], options.detached);
    try {
      await waitFor("davit dev to say where to post", () => {
        if (program.child.exitCode !== null) throw new Error(`davit dev ended: ${program.stderr()}`);
        return program.stdout().includes("Ctrl-C ends it");
      });
    } catch (error) {
      // It has told nobody of its Redis, which ends with it.
      program.child.kill("SIGTERM");
      await program.ended;
      throw error;
    }
    const { gateway = "", admin = "", redis } = this.state();
    const dev = { program, gateway, admin, redisPid: redis?.pid ?? 0, pid: program.child.pid ?? 0 };
    this.#running.push(dev);
    return dev;
  }

  /** State of the first copy of an event, `never` when there is no such event. */
  async stateOf(id: string): Promise<string> {
    const store = new RedisStore({ url: this.state().redis?.url ?? "" });
    try {
      await store.start();
      const event = await store.ledger({ instance: "default", namespace: "default" }).event(id);
      return event?.copies[0]?.state ?? "never";
    } finally {
      store.close();
    }
  }

  /** Ends what a failed test left running, and removes everything. */
  async remove(): Promise<void> {
    for (const { program, pid, redisPid } of this.#running) {
      for (const one of [pid, redisPid]) if (one > 0 && isAlive(one)) process.kill(one, "SIGKILL");
      await program.ended;
    }
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A `davit dev` that serves. */
export interface Dev {
  readonly program: Program;
  readonly gateway: string;
  readonly admin: string;
  readonly pid: number;
  readonly redisPid: number;
}

/** Ends it by a signal and waits. */
export function endDev(dev: Dev, signal: NodeJS.Signals = "SIGTERM"): Promise<Ended> {
  dev.program.child.kill(signal);
  return dev.program.ended;
}

/** Whether a process of ours lives. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Looks until something holds. @throws Error that names it after `timeoutMs`, by default 30 s */
export async function waitFor(
  what: string,
  look: () => boolean | Promise<boolean>,
  timeoutMs = START_TIMEOUT_MS,
): Promise<void> {
  for (const end = performance.now() + timeoutMs; performance.now() < end; await sleep(50)) {
    if (await look()) return;
  }
  throw new Error(`waited in vain for ${what}`);
}
