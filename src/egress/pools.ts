import { buildConnector, Pool } from "undici";

/** How connections are opened: the one place where a guard over resolved addresses or a proxy can stand. */
export type Connector = buildConnector.connector;

export interface PoolsOptions {
  /** Most connections to one origin. Requests beyond wait in the pool, within their own timeout. Default 512. */
  readonly connections?: number;
  /** TCP and TLS handshake together, ms. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Most origins whose connections are kept; the least recently used idle one is closed beyond. Default 256. */
  readonly maxOrigins?: number;
  /** Replaces the built-in connector. */
  readonly connector?: Connector;
}

/** The pool of one origin with the number of requests that are using it. */
export interface PooledOrigin {
  readonly origin: string;
  readonly pool: Pool;
  inFlight: number;
}

/** One pool of keep-alive connections per origin. */
export class Pools {
  readonly #byOrigin = new Map<string, PooledOrigin>();
  readonly #options: Required<Omit<PoolsOptions, "connector">>;
  readonly #connector: Connector;

  constructor(options: PoolsOptions = {}) {
    const { connections = 512, connectTimeoutMs = 10_000, maxOrigins = 256 } = options;
    this.#options = { connections, connectTimeoutMs, maxOrigins };
    // HTTP/1.1 only: an HTTP/2 stream has no moment at which "nothing of it is on the wire" could still be said.
    this.#connector = options.connector ?? buildConnector({ timeout: connectTimeoutMs, allowH2: false });
  }

  /** Number of origins with an open pool. */
  get size(): number {
    return this.#byOrigin.size;
  }

  /** The pool of an origin (`https://host:port`, no path), opened if need be, for one request. Give it back with {@link release}. */
  acquire(origin: string): PooledOrigin {
    let entry = this.#byOrigin.get(origin);
    if (entry === undefined) {
      entry = { origin, pool: this.#open(origin), inFlight: 0 };
      this.#evict();
    } else {
      // A Map keeps the order of insertion: re-inserting makes its first entry the least recently used.
      this.#byOrigin.delete(origin);
    }
    this.#byOrigin.set(origin, entry);
    entry.inFlight += 1;
    return entry;
  }

  release(entry: PooledOrigin): void {
    entry.inFlight -= 1;
  }

  /** Closes every connection at once; requests in flight fail. */
  async close(): Promise<void> {
    const entries = [...this.#byOrigin.values()];
    this.#byOrigin.clear();
    await Promise.all(entries.map((entry) => entry.pool.destroy()));
  }

  #open(origin: string): Pool {
    return new Pool(origin, {
      connections: this.#options.connections,
      connect: this.#connector,
      // The whole exchange has one timeout, kept by the sender.
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
    });
  }

  /** Busy pools stay, so the bound may be passed by as many origins as there are requests in flight. */
  #evict(): void {
    for (const entry of this.#byOrigin.values()) {
      if (this.#byOrigin.size < this.#options.maxOrigins) return;
      if (entry.inFlight > 0) continue;
      this.#byOrigin.delete(entry.origin);
      // Idle: nothing is left that could fail.
      entry.pool.close().catch(() => undefined);
    }
  }
}
