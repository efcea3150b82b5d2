import { Agent, type Dispatcher } from "undici";
import type { KubeTls } from "./auth.ts";
import { KubeConnectionError } from "./errors.ts";

/** Connections for ordinary calls. The server's own fairness does the rest. */
const CALL_CONNECTIONS = 16;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_PROBE_MS = 30_000;

/** Connections to one API server. A watch holds one for minutes, so watches have theirs apart and cannot starve ordinary calls. */
export interface Pools {
  readonly calls: Dispatcher;
  readonly watches: Dispatcher;
}

/** Keeps the connections, and makes new ones when CA, certificate or key change; calls under way end on the old. */
export class PoolKeeper {
  #tls: KubeTls | undefined;
  #current: Pools | undefined;
  readonly #retired = new Set<Dispatcher>();
  #closed = false;

  /** The pools for these TLS settings. @throws KubeConnectionError after {@link close} */
  for(tls: KubeTls): Pools {
    if (this.#closed) throw new KubeConnectionError("Unreachable", "the connections to the API server were closed");
    if (this.#current && this.#tls && sameTls(this.#tls, tls)) return this.#current;
    if (this.#current) this.#retire(this.#current);
    this.#tls = tls;
    this.#current = { calls: agent(tls, CALL_CONNECTIONS), watches: agent(tls, null) };
    return this.#current;
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    const all = [...this.#retired, ...(this.#current ? [this.#current.calls, this.#current.watches] : [])];
    this.#closed = true;
    await Promise.all(all.map((pool) => pool.destroy()));
  }

  #retire({ calls, watches }: Pools): void {
    for (const pool of [calls, watches]) {
      this.#retired.add(pool);
      void pool.close().then(
        () => this.#retired.delete(pool),
        () => this.#retired.delete(pool),
      );
    }
  }
}

function agent(tls: KubeTls, connections: number | null): Agent {
  return new Agent({
    connections,
    allowH2: false, // one stream a connection: a stuck watch then cannot hold back a call
    connect: { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS },
  });
}

const FIELDS = ["ca", "cert", "key", "servername", "rejectUnauthorized"] as const;

function sameTls(a: KubeTls, b: KubeTls): boolean {
  return a === b || FIELDS.every((field) => sameValue(a[field], b[field]));
}

// Not a secret check: both sides are our own, and who could time it could read them.
function sameValue(a: KubeTls[keyof KubeTls], b: KubeTls[keyof KubeTls]): boolean {
  return Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.compare(b) === 0 : a === b;
}
