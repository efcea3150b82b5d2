import type { Dispatcher } from "undici";
import { systemClock, type Clock } from "../lib/clock.ts";
import { Deadlines } from "./deadlines.ts";
import { Exchange, type SendResult } from "./exchange.ts";
import { type PooledOrigin, Pools, type PoolsOptions, type Way } from "./pools.ts";

/** One request, ready to be written. */
export interface OutgoingRequest {
  /** `scheme://host:port`, without path and credentials. */
  readonly origin: string;
  /** Default: straight to a public address. */
  readonly way?: Way;
  /** Path and query. */
  readonly path: string;
  readonly method: Dispatcher.HttpMethod;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: Buffer;
  /** For the whole exchange: waiting for a connection, connect, headers, body. ms */
  readonly timeoutMs: number;
  /** Asked in the same turn of the event loop in which the first byte is handed to the socket; `false`: nothing is written. */
  readonly beforeWrite?: () => boolean;
  /** Aborted: the request is given up (`notSent`) unless it has been written; one that has runs to its end. */
  readonly signal?: AbortSignal;
}

export interface HttpSenderOptions extends PoolsOptions {
  readonly clock?: Clock;
}

/**
 * Sends HTTP/1.1 requests over pools of keep-alive connections, where its guard lets them lead. Follows no redirects, reads at most 64 KiB of a response and keeps 2 KiB.
 */
export class HttpSender {
  readonly #pools: Pools;
  readonly #deadlines: Deadlines;
  readonly #clock: Clock;
  /** Requests by the signal that may call them back: one listener a signal, not one a request. */
  readonly #bySignal = new WeakMap<AbortSignal, Set<Exchange>>();

  constructor(options: HttpSenderOptions = {}) {
    this.#pools = new Pools(options);
    this.#clock = options.clock ?? systemClock;
    this.#deadlines = new Deadlines(this.#clock);
  }

  /** Never rejects: what went wrong is in the result. */
  send(request: OutgoingRequest): Promise<SendResult> {
    return new Promise((resolve) => {
      const requests = request.signal === undefined ? undefined : this.#requestsOf(request.signal);
      if (request.signal?.aborted) return resolve({ type: "notSent" });
      const startedAt = this.#clock.monotonic();
      const pooled = this.#acquire(request);
      if (pooled === undefined) return resolve({ type: "error", code: "invalid_request", durationMs: 0 });
      const exchange: Exchange = new Exchange({
        startedAt,
        deadline: startedAt + request.timeoutMs,
        now: () => this.#clock.monotonic(),
        beforeWrite: request.beforeWrite,
        settled: (result) => {
          this.#deadlines.remove(exchange);
          requests?.delete(exchange);
          this.#pools.release(pooled);
          resolve(result);
        },
      });
      requests?.add(exchange);
      this.#deadlines.add(exchange);
      pooled.pool.dispatch(
        { path: request.path, method: request.method, headers: request.headers, body: request.body },
        exchange,
      );
    });
  }

  /** Closes all connections. Requests in flight end as errors: await them first. */
  close(): Promise<void> {
    return this.#pools.close();
  }

  /** @returns `undefined` for what is no origin of a scheme we speak */
  #acquire({ origin, way }: OutgoingRequest): PooledOrigin | undefined {
    try {
      return this.#pools.acquire(origin, way);
    } catch {
      return undefined;
    }
  }

  #requestsOf(signal: AbortSignal): Set<Exchange> {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return known;
    const requests = new Set<Exchange>();
    this.#bySignal.set(signal, requests);
    signal.addEventListener("abort", () => requests.forEach((exchange) => exchange.recall()), { once: true });
    return requests;
  }
}
