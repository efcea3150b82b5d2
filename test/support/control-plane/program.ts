import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const LOG_TAIL_BYTES = 64 * 1024;
/** As long as controller-runtime's envtest waits. */
const TERMINATION_MS = 20_000;
const POLL_MS = 50;

/** Last 64 KiB of a log file; empty when there is none. */
export function tail(file: string, limit = LOG_TAIL_BYTES): string {
  if (!existsSync(file)) return "";
  const handle = openSync(file, "r");
  try {
    const { size } = fstatSync(handle);
    const buffer = Buffer.alloc(Math.min(size, limit));
    const read = readSync(handle, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8", 0, read);
  } finally {
    closeSync(handle);
  }
}

/** A server in a process group of its own, which writes to a file: its output needs no reader, so it outlives no pipe. */
export class Program {
  readonly name: string;
  readonly logFile: string;
  readonly #command: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(name: string, command: string, args: readonly string[], logFile: string) {
    this.name = name;
    this.logFile = logFile;
    this.#command = command;
    this.#args = args;
  }

  /** Process id, which is the group's as well; undefined when it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    if (this.#child !== undefined) throw new Error(`${this.name} is running`);
    const log = openSync(this.logFile, "a");
    const child = spawn(this.#command, [...this.#args], { detached: true, stdio: ["ignore", log, log] });
    closeSync(log);
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      const gone = () => {
        if (this.#child === child) this.#child = undefined;
        resolve();
      };
      child.once("exit", gone);
      child.once("error", gone);
    });
  }

  /** Polls until `look` says true. @throws Error with the log when the program ends before that, or after `timeoutMs` */
  async until(look: () => Promise<boolean>, timeoutMs: number): Promise<void> {
    for (
      const end = performance.now() + timeoutMs;
      this.#child !== undefined && performance.now() < end;
      await sleep(POLL_MS)
    ) {
      if (await look().catch(() => false)) return;
    }
    const how = this.#child === undefined ? "ended" : `was not ready within ${timeoutMs} ms`;
    throw new Error(`${this.name} ${how}; its log:\n${tail(this.logFile)}`);
  }

  signal(signal: NodeJS.Signals): void {
    const { pid } = this;
    if (pid === undefined) throw new Error(`${this.name} is not running`);
    process.kill(-pid, signal);
  }

  /**
   * Ends it and waits, at last with SIGKILL; a stopped process is woken first, as it would never see the signal. Does nothing when
   * it does not run.
   */
  async end(signal: "SIGTERM" | "SIGKILL" = "SIGTERM", patienceMs = TERMINATION_MS): Promise<void> {
    if (this.pid === undefined) return;
    this.signal("SIGCONT");
    this.signal(signal);
    const hardEnd = setTimeout(() => this.pid !== undefined && this.signal("SIGKILL"), patienceMs);
    await this.#ended;
    clearTimeout(hardEnd);
  }
}
