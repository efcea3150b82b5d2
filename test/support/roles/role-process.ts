import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { waitFor } from "../dev-process.ts";

const FROM_SOURCE = fileURLToPath(new URL("./davit-from-source.ts", import.meta.url));
const MAIN = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));

/** What roles log once they listen. */
const STARTED = ["gateway listens", "worker runs", "cleaner runs", "controller runs", "console listens"];

/** A role needs seconds of processor time to start, and others start at the same time, ms. */
const START_TIMEOUT_MS = 60_000;

/** What `/readyz` said. */
export interface ReadyAnswer {
  readonly status: number;
  readonly text: string;
}

/** A role as a process of its own, on ports of the system's choice. */
export class RoleProcess {
  readonly child: ChildProcess;
  #output = "";

  /**
   * @param program `gateway` or `worker` of this source tree, or the path of a script
   * @param config file, as `DAVIT_CONFIG`
   * @param main file of the program that has the roles; default: that of the sources
   */
  constructor(program: string, config: string, env: NodeJS.ProcessEnv = {}, main = MAIN) {
    const args = program.includes("/") ? ["--import", FROM_SOURCE, program] : [main, program];
    this.child = spawn(process.execPath, args, {
      env: { ...process.env, DAVIT_CONFIG: config, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding("utf8");
      stream?.on("data", (chunk: string) => {
        this.#output += chunk;
      });
    }
  }

  /** Everything it has written. */
  get output(): string {
    return this.#output;
  }

  /** Log lines with this message. */
  lines(message: string): Record<string, unknown>[] {
    return this.#output
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => typeof msg === "string" && msg.includes(message));
  }

  /** Base URL of probes and metrics. */
  get admin(): string {
    return this.#url("adminPort");
  }

  /** Base URL of the gateway. */
  get url(): string {
    return this.#url("port");
  }

  /** Waits until it listens. */
  async listening(): Promise<this> {
    await this.waitFor("it to listen", () => this.#started() !== undefined);
    return this;
  }

  /** Waits until it is ready. */
  async ready(): Promise<this> {
    await this.listening();
    await this.waitFor("it to be ready", async () => (await this.readyz()).status === 200);
    return this;
  }

  async readyz(): Promise<ReadyAnswer> {
    const response = await fetch(`${this.admin}/readyz`);
    return { status: response.status, text: await response.text() };
  }

  /** Value of a metric by its name and labels as written. */
  async metric(series: string): Promise<number | undefined> {
    const text = await (await fetch(`${this.admin}/metrics`)).text();
    const line = text.split("\n").find((one) => one.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }

  /** As {@link waitFor}, with what it has written when it ended or took too long. */
  async waitFor(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
    try {
      const isSo = () => {
        if (this.child.exitCode !== null) throw new Error(`the process ended with ${this.child.exitCode}`);
        return look();
      };
      await waitFor(what, isSo, START_TIMEOUT_MS);
    } catch (error) {
      throw new Error(`${String(error)}; it wrote:\n${this.#output.slice(-4_000)}`, { cause: error });
    }
  }

  /** Sends a signal and resolves with the exit code. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const ended = once(this.child, "exit");
    this.child.kill(signal);
    await ended;
    return this.child.exitCode;
  }

  #started(): Record<string, unknown> | undefined {
    return STARTED.flatMap((line) => this.lines(line))[0];
  }

  #url(field: "port" | "adminPort"): string {
    const port = this.#started()?.[field];
    if (typeof port !== "number") throw new Error(`the process does not listen yet:\n${this.#output}`);
    return `http://127.0.0.1:${port}`;
  }
}
