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

/** What of `CONFIG` and `INFO persistence` speaks against durability: empty when nothing does. Pure. */
export function durabilityProblems(config: ReadonlyMap<string, string>, info: ReadonlyMap<string, string>): string[] {
  const problems = REQUIRED.filter(({ name, ok }) => !ok(config.get(name) ?? "")).map(
    ({ name, remedy }) => `Redis has ${name} ${config.get(name) ?? "(not reported)"}; set ${remedy}`,
  );
  if ((info.get("aof_last_write_status") ?? "ok") !== "ok")
    problems.push("Redis could not write its append-only file (disk full or failing)");
  // Until the first rewrite ends there is no file to recover from: a kill then loses everything.
  const firstRewrite =
    info.get("aof_rewrite_in_progress") === "1" && info.get("aof_base_size") === "0" && info.get("aof_enabled") === "1";
  if (firstRewrite) problems.push("Redis writes its first append-only file; nothing is durable until that ends");
  return problems;
}

/** Watches one Redis on a connection of its own: does it answer and write, does it keep what it acknowledges, how full is it, what time is it there. */
export class Monitor {
  readonly #redis: CustodyClient;
  readonly #mode: DurabilityMode;
  readonly #onChange: (health: CustodyHealth) => void;
  #health: CustodyHealth;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #checkedDurability = Number.NEGATIVE_INFINITY;

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
      this.#checkedDurability = Number.NEGATIVE_INFINITY;
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
    const status = durabilityProblems(new Map(REQUIRED.map(({ name }) => [name, AS_REQUIRED[name] ?? ""])), info);
    if (now - this.#checkedDurability < DURABILITY_MS) {
      const settings = this.#health.durable.problems.filter((problem) => problem.startsWith("Redis has "));
      const problems = [...settings, ...status];
      return { ok: problems.length === 0, source, problems };
    }
    const problems = await this.#settings(info);
    this.#checkedDurability = now;
    return { ok: problems.length === 0, source, problems };
  }

  async #settings(info: ReadonlyMap<string, string>): Promise<string[]> {
    try {
      const rows = (await this.#redis.call("CONFIG", "GET", ...REQUIRED.map(({ name }) => name))) as string[];
      const config = new Map<string, string>();
      for (let i = 0; i + 1 < rows.length; i += 2) config.set(rows[i] ?? "", rows[i + 1] ?? "");
      return durabilityProblems(config, info);
    } catch (error) {
      if (asCustodyError(error).code !== "Script") throw error;
      return [
        "Redis has CONFIG refused for this user; grant +config|get, or say who guarantees durability (durability: asserted)",
      ];
    }
  }
}

const SOURCES = { verify: "verified", assert: "asserted", allowVolatile: "volatile" } as const;

/** Settings that pass, to judge `INFO` alone between two looks at `CONFIG`. */
const AS_REQUIRED: Readonly<Record<string, string>> = {
  appendonly: "yes",
  appendfsync: "always",
  "no-appendfsync-on-rewrite": "no",
  "maxmemory-policy": "noeviction",
  maxmemory: "1",
};
