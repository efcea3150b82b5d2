import type { CustodyHealth } from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { asCustodyError } from "./errors.ts";

const PROBE_MS = 1_000;
const DURABILITY_MS = 10_000;

/** Who says that acknowledged means on disk. `assert`: CONFIG is refused and the operator vouches; `allowVolatile`: for play. */
export type DurabilityMode = "verify" | "assert" | "allowVolatile";

/** `CONFIG GET` names and what each must be. */
const REQUIRED: readonly { readonly name: string; readonly ok: (value: string) => boolean; readonly remedy: string }[] =
  [
    { name: "appendonly", ok: (value) => value === "yes", remedy: "appendonly yes" },
    { name: "appendfsync", ok: (value) => value === "always", remedy: "appendfsync always" },
    // With `yes` Redis acknowledges without a sync for as long as a child rewrites the file.
    { name: "no-appendfsync-on-rewrite", ok: (value) => value === "no", remedy: "no-appendfsync-on-rewrite no" },
    { name: "maxmemory-policy", ok: (value) => value === "noeviction", remedy: "maxmemory-policy noeviction" },
    {
      name: "maxmemory",
      ok: (value) => Number(value) > 0,
      remedy: "maxmemory above 0, so that a full server refuses instead of being killed",
    },
  ];

/** Reads `INFO` text into a map. */
export function parseInfo(text: string): ReadonlyMap<string, string> {
  return new Map(
    text
      .split("\r\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1)];
      }),
  );
}

/** What of `CONFIG` speaks against durability. Pure. */
export function settingProblems(config: ReadonlyMap<string, string>): string[] {
  return REQUIRED.filter(({ name, ok }) => !ok(config.get(name) ?? "")).map(
    ({ name, remedy }) => `Redis has ${name} ${config.get(name) ?? "(not reported)"}; set ${remedy}`,
  );
}

/**
 * What of `INFO` speaks against durability now. Pure.
 *
 * @param fileKnown this server was seen with a complete append-only file. Until the first rewrite ends after `CONFIG SET appendonly yes` there is none
 * to recover from, and a kill loses everything; `INFO` alone does not tell that rewrite from the first one of a file that has grown.
 */
export function stateProblems(info: ReadonlyMap<string, string>, fileKnown: boolean): string[] {
  const problems: string[] = [];
  if ((info.get("aof_last_write_status") ?? "ok") !== "ok") {
    problems.push("Redis could not write its append-only file (disk full or failing)");
  }
  if (info.get("aof_enabled") === "1" && !fileKnown && !hasFile(info)) {
    problems.push("Redis may be writing its first append-only file; nothing is known to be durable until that ends");
  }
  return problems;
}

/** Whether a complete append-only file exists for certain. `aof_base_size` does not tell: it outlives the file when that is switched off and on. */
function hasFile(info: ReadonlyMap<string, string>): boolean {
  const idle = info.get("aof_rewrite_in_progress") === "0" && info.get("aof_rewrite_scheduled") === "0";
  return info.get("aof_enabled") === "1" && idle && info.get("aof_last_bgrewrite_status") === "ok";
}

/** Watches one Redis on a connection of its own: does it answer and write, does it keep what it acknowledges, how full is it, what time is it there. */
export class Monitor {
  readonly #redis: CustodyClient;
  readonly #mode: DurabilityMode;
  readonly #onChange: (health: CustodyHealth) => void;
  #health: CustodyHealth;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #checkedSettings = Number.NEGATIVE_INFINITY;
  #settings: readonly string[] = [];
  /** `run_id` of the server that was seen with a complete append-only file. */
  #fileSeenIn: string | undefined;

  constructor(redis: CustodyClient, mode: DurabilityMode, onChange: (health: CustodyHealth) => void = () => undefined) {
    this.#redis = redis;
    this.#mode = mode;
    this.#onChange = onChange;
    this.#health = {
      up: false,
      durable: {
        ok: mode !== "verify",
        source: SOURCES[mode],
        problems: mode === "verify" ? ["Redis was not checked yet"] : [],
      },
      memoryRatio: 0,
      clockOffsetMs: 0,
    };
    redis.on("ready", () => {
      this.#checkedSettings = Number.NEGATIVE_INFINITY;
    });
  }

  /** What was last seen. */
  get health(): CustodyHealth {
    return this.#health;
  }

  /** Probes once now, then every second until {@link stop}. */
  async start(): Promise<CustodyHealth> {
    await this.probe();
    const again = () => {
      if (this.#stopped) return;
      this.#timer = setTimeout(() => void this.probe().finally(again), PROBE_MS);
      this.#timer.unref();
    };
    again();
    return this.#health;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async probe(): Promise<void> {
    let next: CustodyHealth;
    try {
      next = await this.#look();
    } catch {
      next = { ...this.#health, up: false };
    }
    const changed = JSON.stringify([next.up, next.durable]) !== JSON.stringify([this.#health.up, this.#health.durable]);
    this.#health = next;
    if (changed) this.#onChange(next);
  }

  async #look(): Promise<CustodyHealth> {
    const began = Date.now();
    const [seconds, micros] = await this.#redis.time();
    const here = (began + Date.now()) / 2;
    const clockOffsetMs = here - (Number(seconds) * 1_000 + Number(micros) / 1_000);
    const info = parseInfo(await this.#redis.info());
    const limit = Number(info.get("maxmemory") ?? 0);
    const memoryRatio = limit > 0 ? Number(info.get("used_memory") ?? 0) / limit : 0;
    const writable = info.get("role") === "master" && info.get("loading") !== "1";
    return { up: writable, durable: await this.#durability(info), memoryRatio, clockOffsetMs };
  }

  async #durability(info: ReadonlyMap<string, string>): Promise<CustodyHealth["durable"]> {
    const source = SOURCES[this.#mode];
    if (this.#mode !== "verify") return { ok: true, source, problems: [] };
    const now = performance.now();
    if (now - this.#checkedSettings >= DURABILITY_MS) {
      this.#settings = await this.#checkSettings();
      this.#checkedSettings = now;
    }
    // A restarted server, or one whose file was switched off, has to show its file again.
    if (hasFile(info)) this.#fileSeenIn = info.get("run_id");
    else if (info.get("aof_enabled") !== "1") this.#fileSeenIn = undefined;
    const problems = [...this.#settings, ...stateProblems(info, this.#fileSeenIn === info.get("run_id"))];
    return { ok: problems.length === 0, source, problems };
  }

  async #checkSettings(): Promise<readonly string[]> {
    try {
      const rows = (await this.#redis.call("CONFIG", "GET", ...REQUIRED.map(({ name }) => name))) as string[];
      const config = new Map<string, string>();
      for (let i = 0; i + 1 < rows.length; i += 2) config.set(rows[i] ?? "", rows[i + 1] ?? "");
      return settingProblems(config);
    } catch (error) {
      if (asCustodyError(error).code !== "Denied") throw error;
      return [
        "Redis has CONFIG refused for this user; grant +config|get, or say who guarantees durability (durability: asserted)",
      ];
    }
  }
}

const SOURCES = { verify: "verified", assert: "asserted", allowVolatile: "volatile" } as const;
