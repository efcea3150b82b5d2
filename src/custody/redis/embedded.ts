import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../lib/free-port.ts";
import { connectForTickets } from "./connection.ts";

const BINARIES = ["valkey-server", "redis-server"];
const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 5_000;

/** A Redis of our own, for `davit dev`: loopback only, behind a password, with the durable settings of `custody.md` §8. */
export interface EmbeddedRedis {
  readonly url: string;
  readonly pid: number;
  /** Resolves when it has ended, by itself or by {@link stop}. */
  readonly exited: Promise<void>;
  /** Ends it orderly; its data stays in `dir`. */
  stop(): Promise<void>;
}

/** Redis cannot be started here; the message says what to install. */
export class RedisNotFoundError extends Error {
  readonly code = "RedisNotFound";
}

/** The server program: `$REDIS_SERVER_BIN`, else the first of valkey-server and redis-server on PATH. */
export function findRedisServer(env: NodeJS.ProcessEnv = process.env): string {
  const chosen = env["REDIS_SERVER_BIN"];
  if (chosen) return chosen;
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const found = BINARIES.map((name) => join(folder, name)).find((path) => existsSync(path));
    if (folder !== "" && found !== undefined) return found;
  }
  throw new RedisNotFoundError(
    "no valkey-server or redis-server on PATH: install one (Debian, Ubuntu: apt-get install redis-server; macOS: brew install valkey), or name one by REDIS_SERVER_BIN",
  );
}

/**
 * Starts the server on a free loopback port over the data in `dir` (made with mode 0700).
 * @throws RedisNotFoundError when there is no server program
 * @throws Error with the server's last words when it does not come up within 10 s
 */
export async function startEmbeddedRedis(dir: string, maxmemory = "512mb"): Promise<EmbeddedRedis> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const port = await freePort();
  const password = randomBytes(18).toString("base64url");
  // In a process group of its own: Ctrl-C at a terminal goes to the whole group, and Redis must outlive what drains into it.
  const child = spawn(findRedisServer(), ["-"], { stdio: ["pipe", "pipe", "pipe"], detached: true });
  const endWithUs = () => child.kill("SIGKILL");
  process.once("exit", endWithUs);
  // By standard input, not by arguments: those can be read by every user of the machine.
  child.stdin.end(configuration({ port, dir, password, maxmemory }));
  let log = "";
  const keep = (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-4_096);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", (error) => {
      log += error.message;
      resolve();
    });
  });
  void exited.then(() => process.off("exit", endWithUs));
  const url = `redis://:${password}@127.0.0.1:${port}`;
  const state = await Promise.race([exited.then(() => "exited"), untilReady(url)]);
  if (state !== "ready") {
    child.kill("SIGKILL");
    throw new Error(`Redis did not start over ${dir} (${state}). Its last words:\n${log.trim()}`);
  }
  return { url, pid: child.pid ?? 0, exited, stop: () => stop(child, exited) };
}

function configuration(options: { port: number; dir: string; password: string; maxmemory: string }): string {
  return [
    "bind 127.0.0.1",
    `port ${options.port}`,
    `dir "${options.dir}"`,
    `requirepass ${options.password}`,
    "appendonly yes",
    "appendfsync always",
    "no-appendfsync-on-rewrite no",
    'save ""',
    "maxmemory-policy noeviction",
    `maxmemory ${options.maxmemory}`,
    "daemonize no",
    "",
  ].join("\n");
}

async function untilReady(url: string): Promise<"ready" | "timeout"> {
  const client = connectForTickets(url);
  try {
    const ping = client.ping().then(() => "ready" as const);
    return await Promise.race([ping, sleep(START_TIMEOUT_MS, "timeout" as const, { ref: false })]);
  } finally {
    client.disconnect();
  }
}

async function stop(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(force);
}
