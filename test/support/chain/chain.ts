import { type ChildProcess, fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { heldPort } from "../held-port.ts";
import { startRedis, type TestRedis } from "../redis.ts";
import type { ChainSettings, KillPoint } from "./settings.ts";

type Role = "gateway" | "worker" | "sink" | "producer";

/** A process of the chain, started again at will. */
export interface ChainProcess {
  readonly role: Role;
  readonly alive: boolean;
  /** Starts it (again) and resolves when it is ready. `killAt` arms the trap for this life only. */
  start(killAt?: KillPoint): Promise<void>;
  /** SIGKILL, and waits until it is gone. */
  kill9(): Promise<void>;
  /** Resolves when it ended, by whatever hand. */
  gone(): Promise<void>;
}

class Forked implements ChainProcess {
  readonly role: Role;
  readonly #env: (killAt: KillPoint | undefined) => NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #gone: Promise<void> = Promise.resolve();
  message: unknown;

  constructor(role: Role, env: (killAt: KillPoint | undefined) => NodeJS.ProcessEnv) {
    this.role = role;
    this.#env = env;
  }

  get alive(): boolean {
    return this.#child !== undefined;
  }

  async start(killAt?: KillPoint): Promise<void> {
    const file = new URL(`${this.role}-process.ts`, import.meta.url);
    const child = fork(file, {
      env: { ...process.env, ...this.#env(killAt) },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#child = child;
    this.#gone = new Promise((resolve) => {
      child.once("exit", () => {
        if (this.#child === child) this.#child = undefined;
        resolve();
      });
    });
    if (this.role === "producer") return;
    const ready = new Promise((resolve) => child.once("message", resolve));
    this.message = await Promise.race([ready, this.#gone]);
  }

  async kill9(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#gone;
  }

  gone(): Promise<void> {
    return this.#gone;
  }
}

/** A whole chain of real processes: Redis, gateway, workers, a destination that logs receipts, a sender that logs acknowledgements. */
export interface Chain {
  readonly redis: TestRedis;
  readonly gateway: ChainProcess;
  readonly workers: readonly ChainProcess[];
  readonly sink: ChainProcess;
  /** Sends `count` deliveries; resolves when all are acknowledged. */
  readonly send: (count: number, inFlight?: number) => Promise<void>;
  /** Event ids by delivery id, as acknowledged. */
  readonly acks: () => Map<string, string>;
  /** Attempts answered 2xx, by event id. */
  readonly receipts: () => Map<string, number[]>;
  readonly stop: () => Promise<void>;
}

export interface ChainOptions {
  readonly workers?: number;
  readonly worker?: Partial<ChainSettings>;
  readonly sink?: NodeJS.ProcessEnv;
}

/** Starts Redis and the sink; gateway and workers are started by the test. */
export async function startChain(options: ChainOptions = {}): Promise<Chain> {
  const dir = mkdtempSync(join(tmpdir(), "davit-chain-"));
  const redis = await startRedis();
  const sinkLog = join(dir, "receipts");
  const ackLog = join(dir, "acks");
  const sink = new Forked("sink", () => ({ SINK_LOG: sinkLog, ...options.sink }));
  await sink.start();
  const { port: sinkPort } = sink.message as { port: number };
  const port = await heldPort();
  const settings: ChainSettings = {
    redisUrl: redis.url,
    sinkUrl: `http://127.0.0.1:${sinkPort}/hook`,
    port,
    ...options.worker,
  };
  const chained = (role: Role) =>
    new Forked(role, (killAt) => ({ CHAIN: JSON.stringify({ ...settings, ...(killAt && { killAt }) }) }));
  const gateway = chained("gateway");
  const workers = Array.from({ length: options.workers ?? 1 }, () => chained("worker"));
  const producers: Forked[] = [];
  return {
    redis,
    gateway,
    workers,
    sink,
    async send(count, inFlight = 32) {
      const prefix = `d${producers.length}-`;
      const told = { url: `http://127.0.0.1:${port}`, count, inFlight, log: ackLog, prefix };
      const producer = new Forked("producer", () => ({ PRODUCER: JSON.stringify(told) }));
      producers.push(producer);
      await producer.start();
      await producer.gone();
    },
    acks: () => new Map(lines(ackLog).map((line) => line.split(" ") as [string, string])),
    receipts() {
      const byEvent = new Map<string, number[]>();
      for (const line of lines(sinkLog)) {
        const [id = "", attempt] = line.split(" ");
        byEvent.set(id, [...(byEvent.get(id) ?? []), Number(attempt)]);
      }
      return byEvent;
    },
    async stop() {
      for (const one of [...producers, ...workers, gateway, sink]) await one.kill9();
      await redis.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function lines(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
}
