import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { LEASE_MS } from "./settings.ts";

/** Beyond a lease and the 2 s after which it is taken back, ms. */
const LONG_STOP_MS = { least: LEASE_MS + 3_000, more: 2_000 };

/** A worker process that is killed and started again, or stopped and set going again, at random times. */
export class Lives {
  readonly #program: URL;
  readonly #env: Readonly<Record<string, string>>;
  readonly #random: () => number;
  #child: ChildProcess | undefined;
  kills = 0;
  stops = 0;

  constructor(program: URL, env: Readonly<Record<string, string>>, random: () => number) {
    this.#program = program;
    this.#env = env;
    this.#random = random;
  }

  /** Resolves once it works. */
  start(): Promise<void> {
    const child = fork(this.#program, {
      env: { ...process.env, ...this.#env },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#child = child;
    return new Promise((resolve) => {
      child.once("message", () => resolve());
      child.once("exit", () => resolve());
    });
  }

  /** Is killed at least once and stopped for longer than a lease, then either at random. `untilMs`: monotonic. Resolves when the time is over, with the process at work. */
  async live(untilMs: number): Promise<void> {
    for (let n = 0; n < 2 || performance.now() < untilMs; n++) {
      await sleep(500 + this.#random() * 3_500);
      if (n === 0 || (n > 1 && this.#random() < 0.5)) await this.#die();
      else await this.#rest(n === 1 || this.#random() < 0.3);
    }
  }

  end(): void {
    this.#child?.kill("SIGKILL");
  }

  async #die(): Promise<void> {
    this.#child?.kill("SIGKILL");
    this.kills += 1;
    await sleep(this.#random() * 400);
    await this.start();
  }

  async #rest(long: boolean): Promise<void> {
    const ms = long ? LONG_STOP_MS.least + this.#random() * LONG_STOP_MS.more : 100 + this.#random() * 1_500;
    this.#child?.kill("SIGSTOP");
    this.stops += 1;
    await sleep(ms);
    this.#child?.kill("SIGCONT");
  }
}
