import { Secret } from "../../lib/secret.ts";
import type { KeptHandshake } from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { handshakesKey } from "./keys.ts";

/** Newest secrets of a route that are kept. */
const KEPT = 10;
const TTL_S = 72 * 3_600;

/** Secrets that providers handed over in handshakes: a sorted set a route, by time. */
export class HandshakeSecrets {
  readonly #redis: CustodyClient;
  readonly #tag: string;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#tag = tag;
  }

  /** Resolves once Redis has answered. Rejects with ioredis's error. */
  async add({ route, at, client, kind, value }: KeptHandshake): Promise<void> {
    const key = handshakesKey(this.#tag, route);
    const member = JSON.stringify({ at, client, kind, value: value.reveal().toString("base64") });
    const replies = await this.#redis
      .multi()
      .zadd(key, at, member)
      .zremrangebyscore(key, "-inf", at - TTL_S * 1_000)
      .zremrangebyrank(key, 0, -(KEPT + 1))
      .expire(key, TTL_S)
      .exec()
      .catch((error: unknown) => {
        throw firstCause(error);
      });
    const failed = replies?.find(([error]) => error !== null);
    if (failed) throw failed[0] ?? new Error("the transaction failed");
  }

  /** Newest first; none older than 72 h at `now` (Unix ms). */
  async of(route: string, now: number): Promise<readonly KeptHandshake[]> {
    const key = handshakesKey(this.#tag, route);
    const rows = await this.#redis.zrange(key, "+inf", String(now - TTL_S * 1_000), "BYSCORE", "REV");
    return rows.map((row) => {
      const { value, ...rest } = JSON.parse(row) as Omit<KeptHandshake, "route" | "value"> & { readonly value: string };
      return { ...rest, route, value: Secret.of(value, "base64") };
    });
  }
}

/** Redis aborts a transaction of which a command was refused (EXECABORT): why is in that command's error, which ioredis keeps. */
function firstCause(error: unknown): unknown {
  const [first] =
    error instanceof Error && "previousErrors" in error ? (error.previousErrors as readonly unknown[]) : [];
  return first ?? error;
}
