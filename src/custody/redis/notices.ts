import type { Notice, NoticeReader, Notices, TakenNotice } from "../notices.ts";
import type { CustodyClient } from "./connection.ts";
import { asCustodyError } from "./errors.ts";

/** Values of one notice in the reply of `take-notices`. */
const NOTICE_VALUES = 3;

/** Notices of one namespace on Redis. They are written by the scripts that change a gate (`lua/gate.lua`). */
export class RedisNotices implements Notices {
  readonly #redis: CustodyClient;
  readonly #prefix: string;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
  }

  async take(reader: NoticeReader, limit: number, holdMs: number): Promise<readonly TakenNotice[]> {
    const values = await named(this.#redis.takeNotices(this.#prefix, reader, limit, Math.ceil(holdMs)));
    const taken: TakenNotice[] = [];
    for (let i = 0; i + 2 < values.length; i += NOTICE_VALUES) {
      const notice = JSON.parse(String(values[i + 2])) as Omit<Notice, "id">;
      taken.push({ notice: { id: String(values[i]), ...notice }, attempt: Number(values[i + 1]) });
    }
    return taken;
  }

  async settle(reader: NoticeReader, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await named(this.#redis.settleNotices(this.#prefix, reader, ...ids));
  }

  async postpone(reader: NoticeReader, id: string, delayMs: number): Promise<void> {
    await named(this.#redis.postponeNotice(this.#prefix, reader, id, Math.max(0, Math.ceil(delayMs))));
  }
}

/** @throws CustodyError for whatever Redis says */
async function named<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw asCustodyError(error);
  }
}
