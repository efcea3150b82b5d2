import { createHash } from "node:crypto";
import { Pool } from "undici";
import { EgressGuard, type Network } from "./guard.ts";
import type { Connector, TlsSettings } from "./socket-options.ts";
import { tunnelConnector } from "./tunnel.ts";

/** How connections for a request are made. Requests share connections whose origin and way are the same. */
export interface Way {
  /** Tells ways apart; empty for the plain one, straight to a public address. */
  readonly key: string;
  readonly network: Network;
  readonly tls?: TlsSettings | undefined;
  /** URL of an egress proxy. */
  readonly proxy?: string | undefined;
}

/** Straight to a public address, with the system's authorities. */
const PLAIN_WAY: Way = { key: "", network: "Public" };

/** A way with its key, which is made of a hash: a key of TLS must not be found in it. Make it once for a destination. */
export function wayOf(parts: Omit<Way, "key">): Way {
  const { network, tls, proxy } = parts;
  if (network === "Public" && tls === undefined && proxy === undefined) return PLAIN_WAY;
  const text = JSON.stringify([network, proxy, tls?.ca, tls?.certificate, tls?.key, tls?.serverName]);
  return { ...parts, key: createHash("sha256").update(text).digest("base64") };
}

export interface PoolsOptions {
  /** Decides where connections may lead. Default: to public addresses only. */
  readonly guard?: EgressGuard;
  /** Most connections to one origin. Requests beyond wait in the pool, within their own timeout. Default 512. */
  readonly connections?: number;
  /** TCP and TLS handshake together, ms. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** A connection that was idle so long is closed, whatever the server offers, ms. Default 4,000; up to 30,000 where the server asks for it. */
  readonly idleMs?: number;
  /** Most origins whose connections are kept; the least recently used idle one is closed beyond. Default 256. */
  readonly maxOrigins?: number;
  /** Opens the connections in place of the guard's connector. */
  readonly connector?: Connector;
}

/** Idle connections are never kept longer, ms. */
const MAX_IDLE_MS = 30_000;

/** The pool of one origin and way with the number of requests that are using it. */
export interface PooledOrigin {
  readonly key: string;
  readonly pool: Pool;
  inFlight: number;
}

/** One pool of keep-alive connections per origin and way. */
export class Pools {
  readonly #byKey = new Map<string, PooledOrigin>();
  readonly #options: Required<Omit<PoolsOptions, "connector" | "idleMs">>;
  readonly #connector: Connector | undefined;
  readonly #idle: { readonly keepAliveTimeout: number; readonly keepAliveMaxTimeout: number };

  constructor(options: PoolsOptions = {}) {
    const { connections = 512, connectTimeoutMs = 10_000, maxOrigins = 256, idleMs, connector } = options;
    this.#options = { guard: options.guard ?? new EgressGuard(), connections, connectTimeoutMs, maxOrigins };
    this.#connector = connector;
    this.#idle = { keepAliveTimeout: idleMs ?? 4_000, keepAliveMaxTimeout: idleMs ?? MAX_IDLE_MS };
  }

  /** Number of open pools. */
  get size(): number {
    return this.#byKey.size;
  }

  /** The pool of an origin (`https://host:port`, no path), opened if need be, for one request. Give it back with {@link release}. */
  acquire(origin: string, way: Way = PLAIN_WAY): PooledOrigin {
    const key = way.key === "" ? origin : `${origin} ${way.key}`;
    let entry = this.#byKey.get(key);
    if (entry === undefined) {
      entry = { key, pool: this.#open(origin, way), inFlight: 0 };
      this.#evict();
    } else {
      // A Map keeps the order of insertion: re-inserting makes its first entry the least recently used.
      this.#byKey.delete(key);
    }
    this.#byKey.set(key, entry);
    entry.inFlight += 1;
    return entry;
  }

  release(entry: PooledOrigin): void {
    entry.inFlight -= 1;
  }

  /** Closes every connection at once; requests in flight fail. */
  async close(): Promise<void> {
    const entries = [...this.#byKey.values()];
    this.#byKey.clear();
    await Promise.all(entries.map((entry) => entry.pool.destroy()));
  }

  #open(origin: string, way: Way): Pool {
    return new Pool(origin, {
      connections: this.#options.connections,
      // A connector each: it remembers TLS sessions, and one begun with a client certificate must not be resumed by another destination.
      connect: this.#connector ?? this.#connectorFor(way),
      // Else undici asks one connection first whether the server speaks HTTP/2, and the others wait for it.
      allowH2: false,
      // The whole exchange has one timeout, kept by the sender.
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
      ...this.#idle,
    });
  }

  #connectorFor({ network, tls, proxy }: Way): Connector {
    const { guard, connectTimeoutMs: timeoutMs } = this.#options;
    if (proxy !== undefined) return tunnelConnector({ proxy, guard, timeoutMs, tls });
    return guard.connector({ timeoutMs, network, tls });
  }

  /** Busy pools stay, so the bound may be passed by as many as there are requests in flight. */
  #evict(): void {
    for (const entry of this.#byKey.values()) {
      if (this.#byKey.size < this.#options.maxOrigins) return;
      if (entry.inFlight > 0) continue;
      this.#byKey.delete(entry.key);
      // Idle: nothing is left that could fail.
      entry.pool.close().catch(() => undefined);
    }
  }
}
