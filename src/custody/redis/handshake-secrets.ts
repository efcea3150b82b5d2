import { readFileSync } from "node:fs";
import { rateKey } from "../../lib/rate-key.ts";
import { Secret } from "../../lib/secret.ts";
import type { KeptHandshake } from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { handshakesKey } from "./keys.ts";

/** Secrets of a route that are kept. */
const KEPT = 10;
const TTL_MS = 72 * 3_600_000;
const SCRIPT = readFileSync(new URL("lua/keep-handshake.lua", import.meta.url), "utf8");

/**
 * Secrets that providers handed over in handshakes: a sorted set a route, by time. Anybody may send one while the route is open for it, so the first and the newest
 * stay when there are too many, and a client with more than two makes room first.
 */
export class HandshakeSecrets {
  readonly #redis: CustodyClient;
  readonly #tag: string;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#tag = tag;
  }

  /** Resolves once Redis has answered. Rejects with ioredis's error. */
  async add({ route, at, client, kind, value }: KeptHandshake): Promise<void> {
    const from = rateKey(client);
    const member = JSON.stringify({ at, client, from, kind, value: value.reveal().toString("base64") });
    await this.#redis.eval(SCRIPT, 1, handshakesKey(this.#tag, route), at, member, TTL_MS, KEPT);
  }

  /** Newest first; none older than 72 h at `now` (Unix ms). */
  async of(route: string, now: number): Promise<readonly KeptHandshake[]> {
    const key = handshakesKey(this.#tag, route);
    const rows = await this.#redis.zrange(key, "(inf", String(now - TTL_MS), "BYSCORE", "REV");
    return rows.map((row) => {
      const { at, client, kind, value } = JSON.parse(row) as Omit<KeptHandshake, "route" | "value"> & {
        readonly value: string;
      };
      return { route, at, client, kind, value: Secret.of(value, "base64") };
    });
  }

  /** How many others there were and had to go. */
  async dropped(route: string): Promise<number> {
    const [row] = await this.#redis.zrange(handshakesKey(this.#tag, route), "inf", "inf", "BYSCORE");
    return row === undefined ? 0 : (JSON.parse(row) as { readonly dropped: number }).dropped;
  }
}
