import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Count,
  type DeadLetterFilter,
  DEFAULT_REPLAY_RATE,
  MAX_REPLAY_RATE,
  type Replay,
  ReplayKeyReused,
  type ReplayRequest,
  type ReplayState,
} from "../operations.ts";
import type { CustodyClient } from "./connection.ts";
import { ask } from "./errors.ts";

/** A replay that ended is known for this long, ms. */
const KEEP_MS = 7 * 86_400_000;
/** Most replays in a list. */
const LIST_LIMIT = 100;
/** Copies of one script. */
const PAGE = 100;
/** How long others wait for a process that advances replays and is gone, ms. */
const LEASE_MS = 3_000;
/** Between two calls, as a multiple of what one took: replays take a quarter of Redis's time at most. */
const REST = 3;
/** Digits of a replay's id. */
const ID_DIGITS = 20;

/** Id of the replay that has a key. */
export function replayId(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, ID_DIGITS);
}

/** Records of replays. */
export class RedisReplays {
  readonly #redis: CustodyClient;
  readonly #prefix: string;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
  }

  /** @param how the index to walk, and what counts its dead letters */
  async start(
    { filter, rate = DEFAULT_REPLAY_RATE, key, owner = "", mayCreate }: ReplayRequest,
    how: { readonly index: string; readonly count: (filter: DeadLetterFilter) => Promise<Count> },
  ): Promise<{ readonly replay: Replay; readonly created: boolean }> {
    if (!(rate >= 1 && rate <= MAX_REPLAY_RATE)) throw new RangeError(`rate: from 1 to ${MAX_REPLAY_RATE} a second`);
    const id = replayId(key ?? randomUUID());
    const known = await this.read(id);
    if (known !== undefined) return { replay: same(known, filter, rate), created: false };
    await mayCreate?.();
    const [seconds, micros] = await ask(() => this.#redis.time());
    const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    const to = Math.min(filter.to ?? now, now);
    const { count: total, atLeast } = await how.count({ ...filter, to });
    const args = [id, how.index, filterText(filter), to, rate, total, owner, Number(atLeast)];
    const created = (await ask(() => this.#redis.startReplay(this.#prefix, ...args))) === 1;
    const replay = await this.read(id);
    if (replay === undefined) throw new RangeError(`replay ${id} was removed while it was created`);
    return { replay: same(replay, filter, rate), created };
  }

  async read(id: string): Promise<Replay | undefined> {
    const fields = await ask(() => this.#redis.hgetall(`${this.#prefix}replay:${id}`));
    return fields["state"] === undefined ? undefined : readReplay(id, fields);
  }

  async list(owner = ""): Promise<readonly Replay[]> {
    const key = `${this.#prefix}replays${owner === "" ? "" : `:${owner}`}`;
    const ids = await ask(() => this.#redis.zrange(key, "0", String(LIST_LIMIT - 1), "REV"));
    return (await Promise.all(ids.map((id) => this.read(id)))).filter((replay) => replay !== undefined);
  }

  async steer(id: string, to: ReplayState): Promise<Replay | undefined> {
    await ask(() => this.#redis.steerReplay(this.#prefix, id, to, KEEP_MS));
    return this.read(id);
  }
}

/** Advances the replays of a namespace while some run. One process does it at a time; any goes on where another was. */
export class ReplayAdvancer {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #token = randomUUID();
  #running: Promise<void> | undefined;
  #stop = new AbortController();

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
  }

  /** Advances until nothing runs, another process does it, or `stop`. @returns resolves then; a second call joins the first */
  run(): Promise<void> {
    this.#running ??= this.#loop(this.#stop.signal).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  stop(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  async #loop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const began = performance.now();
      const args = [this.#token, LEASE_MS, PAGE, KEEP_MS];
      const [wait = -1] = await this.#redis.advanceReplays(this.#prefix, ...args).catch(() => []);
      if (wait < 0) return;
      const rest = Math.max(wait, REST * (performance.now() - began));
      await sleep(rest, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }
}

/** One text for equal filters. */
function filterText({ route, destination, from, to, reason, eventType }: DeadLetterFilter): string {
  return JSON.stringify({ route, destination, from, to, reason, eventType });
}

function same(replay: Replay, filter: DeadLetterFilter, rate: number): Replay {
  if (filterText(replay.filter) === filterText(filter) && replay.rate === rate) return replay;
  throw new ReplayKeyReused(replay.id);
}

function readReplay(id: string, fields: Readonly<Record<string, string>>): Replay {
  const number = (name: string) => Number(fields[name]);
  return {
    id,
    filter: JSON.parse(fields["filter"] ?? "{}") as DeadLetterFilter,
    to: number("to"),
    rate: number("rate"),
    state: fields["state"] as ReplayState,
    total: number("total"),
    totalAtLeast: fields["least"] === "1",
    replayed: number("replayed"),
    scanned: number("scanned"),
    createdAt: number("created"),
    updatedAt: number("updated"),
    ...(fields["owner"] && { owner: fields["owner"] }),
  };
}
