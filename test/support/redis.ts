import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis, type RedisOptions } from "ioredis";
import { findRedisServer } from "../../src/custody/redis/embedded.ts";
import { heldPort } from "./held-port.ts";

/** Options of a test client; the reply mapping stays at its default, as it changes the types of every answer. */
export type TestClientOptions = Omit<RedisOptions, "replyMapping">;

const START_TIMEOUT_MS = 30_000;
const LOG_LIMIT_CHARS = 64 * 1024;

/** How a test's server differs from the durable one that the project demands. */
export interface StartRedisOptions {
  /** `maxmemory` as Redis writes it; default `512mb`. */
  readonly maxmemory?: string;
  /** false: no append-only file at all, to test what happens without durability. Default true. */
  readonly durable?: boolean;
  /** Data directory to keep; without it a temporary one is made and removed by `stop`. */
  readonly dir?: string;
  /** TCP port on 127.0.0.1; without it a free one is asked of the system. */
  readonly port?: number;
  /** More `redis-server` arguments, e.g. `["--requirepass", "…"]`; they win over the ones set here. */
  readonly args?: readonly string[];
}

/** A running Redis or Valkey server of a test, on 127.0.0.1. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  /** Process id of the present server; changes with `restart`. */
  readonly pid: number;
  /** A new connection; `stop` closes those that are still open. It swallows `error` events, as tests break Redis on purpose. */
  client(options?: TestClientOptions): Redis;
  /** Stops the process where it stands (SIGSTOP): connections stay open and nothing answers. */
  freeze(): void;
  /** Lets a frozen process go on (SIGCONT). */
  thaw(): void;
  /** Ends the process at once (SIGKILL) and waits until it is gone. */
  kill9(): Promise<void>;
  /** Starts the server on the same port and directory; ends a running one orderly first. Resolves once data is loaded. */
  restart(): Promise<void>;
  /** Everything the server has printed, its last 64 KiB. */
  log(): string;
  /** Closes the clients, ends the server and removes a temporary directory. May be called twice. */
  stop(): Promise<void>;
}

/** Command line of the server; the durable settings are those the durability check demands (custody: "Durable means"). */
function serverArguments(port: number, dir: string, options: StartRedisOptions): string[] {
  const durable = options.durable ?? true;
  const settings: Record<string, string> = {
    "--port": String(port),
    "--bind": "127.0.0.1",
    "--dir": dir,
    "--save": "",
    "--appendonly": durable ? "yes" : "no",
    "--appendfsync": durable ? "always" : "no",
    "--no-appendfsync-on-rewrite": "no",
    "--maxmemory": options.maxmemory ?? "512mb",
    "--maxmemory-policy": "noeviction",
    "--daemonize": "no",
  };
  return [...Object.entries(settings).flat(), ...(options.args ?? [])];
}

// Whatever a test run leaves behind goes with it, also after a failed assertion or an uncaught error.
const servers = new Set<RedisProcess>();
process.once("exit", () => {
  for (const server of servers) server.abandon();
});

class RedisProcess implements TestRedis {
  readonly port: number;
  readonly dir: string;
  readonly url: string;
  readonly #options: StartRedisOptions;
  readonly #ownsDir: boolean;
  readonly #clients = new Set<Redis>();
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #log = "";

  constructor(port: number, options: StartRedisOptions) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#options = options;
    this.#ownsDir = options.dir === undefined;
    this.dir = options.dir ?? mkdtempSync(join(tmpdir(), "davit-redis-"));
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error("The test's Redis is not running");
    return pid;
  }

  client(options: TestClientOptions = {}): Redis {
    const client = new Redis(this.url, options);
    client.on("error", () => {});
    client.once("end", () => this.#clients.delete(client));
    this.#clients.add(client);
    return client;
  }

  freeze(): void {
    process.kill(this.pid, "SIGSTOP");
  }

  thaw(): void {
    process.kill(this.pid, "SIGCONT");
  }

  async kill9(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#exited;
  }

  async restart(): Promise<void> {
    await this.#terminate();
    await this.start();
  }

  log(): string {
    return this.#log;
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    this.#clients.clear();
    await this.#terminate();
    servers.delete(this);
    if (this.#ownsDir) rmSync(this.dir, { recursive: true, force: true });
  }

  async start(): Promise<void> {
    servers.add(this);
    const child = spawn(findRedisServer(), serverArguments(this.port, this.dir, this.#options), {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      const gone = () => {
        if (this.#child === child) this.#child = undefined;
        resolve();
      };
      child.once("exit", gone);
      child.once("error", (error) => {
        this.#keep(`${error.message}\n`);
        gone();
      });
    });
    child.stdout.on("data", (chunk: Buffer) => this.#keep(chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => this.#keep(chunk.toString()));
    await this.#untilReady(child);
  }

  /** Synchronous clean-up on the exit of the test process. */
  abandon(): void {
    this.#child?.kill("SIGKILL");
    if (this.#ownsDir) rmSync(this.dir, { recursive: true, force: true });
  }

  #keep(text: string): void {
    this.#log = (this.#log + text).slice(-LOG_LIMIT_CHARS);
  }

  /** Orderly end; a frozen process is woken first, as it would never see the signal. */
  async #terminate(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.kill("SIGCONT");
    child.kill("SIGTERM");
    const hardEnd = setTimeout(() => child.kill("SIGKILL"), 5_000);
    await this.#exited;
    clearTimeout(hardEnd);
  }

  /** PING answers PONG only once the append-only file is loaded (LOADING before that). */
  async #untilReady(child: ChildProcess): Promise<void> {
    const probe = new Redis(this.url, { retryStrategy: () => 20, maxRetriesPerRequest: null, enableReadyCheck: false });
    probe.on("error", () => {});
    const deadline = performance.now() + START_TIMEOUT_MS;
    try {
      while (this.#child === child && performance.now() < deadline) {
        const answer = await Promise.race([probe.ping().catch(() => ""), sleep(100, "")]);
        if (answer === "PONG") return;
        await sleep(10);
      }
    } finally {
      probe.disconnect();
    }
    const log = this.#log;
    await this.stop();
    throw new Error(`The test's Redis did not start on port ${this.port}; its log:\n${log}`);
  }
}

/**
 * Starts a real Redis or Valkey with the durable settings and resolves once it answers.
 * Throws with the server's log when it does not come up within 30 s.
 */
export async function startRedis(options: StartRedisOptions = {}): Promise<TestRedis> {
  const server = new RedisProcess(options.port ?? (await heldPort()), options);
  await server.start();
  return server;
}
