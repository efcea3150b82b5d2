import { request, type Dispatcher } from "undici";
import { systemTimers, sleep, type Timers } from "../lib/timers.ts";
import { TokenBucket } from "../lib/token-bucket.ts";
import type { KubernetesMetrics } from "../observability/kubernetes-metrics.ts";
import type { KubeAuth } from "./auth.ts";
import { connectionError } from "./connection-error.ts";
import { KubeApiError, KubeConnectionError, statusOf, type KubeStatus } from "./errors.ts";
import type { Fence } from "./fence.ts";
import { PoolKeeper, type Pools } from "./pools.ts";
import { requestInfo } from "./request-info.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
/** Longest error body that is looked at, bytes. */
const ERROR_BODY_BYTES = 64 * 1024;

/** A Lease must be renewed in time whatever else waits, and is written seldom. */
const LEASES_PATH = "/apis/coordination.k8s.io/";

/** One request. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From `/api` or `/apis` on, without a query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Default `application/json`. */
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For the whole answer, ms; default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Asked right before the request is sent. */
  readonly fence?: Fence | undefined;
}

/** A GET whose answer has no end. */
export interface WatchCall extends Pick<Call, "path" | "query" | "signal" | "accept"> {
  /** Silence after which the connection counts as dead, ms. */
  readonly idleMs: number;
}

/** What a {@link KubeTransport} needs. */
export interface TransportOptions {
  readonly auth: KubeAuth;
  readonly metrics: Pick<KubernetesMetrics, "restClientRequests" | "restClientDuration">;
  readonly timers?: Timers;
  /** `User-Agent`, which stands in the server's audit log and as default field manager. */
  readonly userAgent?: string;
  /** Writes wait for this budget, those of Leases excepted; without it the server's own limits hold. */
  readonly writeLimit?: { readonly perSecond: number; readonly burst: number };
}

/**
 * HTTP to one API server: pooled connections, credentials, timeouts, metrics and one class for each way to fail.
 * Credentials that the server refuses (401) are read anew and tried once more.
 */
export class KubeTransport {
  readonly #options: TransportOptions;
  readonly #timers: Timers;
  readonly #pools = new PoolKeeper();
  readonly #writes: TokenBucket | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    const limit = options.writeLimit;
    if (limit) this.#writes = new TokenBucket(limit.burst, limit.perSecond / 1_000, this.#timers.monotonic());
  }

  /** Base URL of the server, for messages. */
  get server(): string {
    return this.#options.auth.server;
  }

  /** Namespace of this process, if its credentials tell. */
  get namespace(): string | undefined {
    return this.#options.auth.namespace;
  }

  /**
   * Sends a call and reads its JSON.
   * @throws KubeApiError for a non-2xx answer; KubeConnectionError without one; KubeConfigError for unreadable credentials;
   * NotLeaderError from the fence; the signal's reason when the caller gave up
   */
  async json<T>(call: Call): Promise<T> {
    const caller = mergeSignals(call.signal, call.fence?.signal);
    const limit = AbortSignal.timeout(call.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const signal = caller ? AbortSignal.any([caller, limit]) : limit;
    if (call.method !== "GET" && !call.path.startsWith(LEASES_PATH)) await this.#waitForBudget(signal);
    try {
      const response = await this.#send(call, signal, "calls");
      return (await response.body.json()) as T;
    } catch (error) {
      throw this.#failed(error, caller);
    }
  }

  /**
   * Opens a watch.
   * @returns its bytes as they come. The iteration ends when the server ends the watch; it throws {@link KubeConnectionError} when the connection
   * breaks or is silent for `idleMs` (code `Timeout`)
   */
  async watch(call: WatchCall): Promise<AsyncIterable<Uint8Array>> {
    try {
      const { idleMs, ...rest } = call;
      const response = await this.#send({ ...rest, method: "GET" }, call.signal, "watches", idleMs);
      return this.#chunks(response.body, call.signal);
    } catch (error) {
      throw this.#failed(error, call.signal);
    }
  }

  /** Ends all connections, watches too. */
  close(): Promise<void> {
    return this.#pools.close();
  }

  async *#chunks(body: Dispatcher.ResponseData["body"], signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    try {
      yield* body as AsyncIterable<Uint8Array>;
    } catch (error) {
      throw this.#failed(error, signal);
    }
  }

  async #waitForBudget(signal: AbortSignal): Promise<void> {
    for (;;) {
      const waitMs = this.#writes?.take(this.#timers.monotonic()) ?? 0;
      if (waitMs === 0 || signal.aborted) return;
      await sleep(this.#timers, waitMs, signal);
    }
  }

  async #send(
    call: Call,
    signal: AbortSignal | undefined,
    pool: keyof Pools,
    idleMs?: number,
  ): Promise<Dispatcher.ResponseData> {
    const first = await this.#once(call, { signal, pool, idleMs });
    if (first.statusCode === 401) {
      await first.body.dump();
      this.#options.auth.refresh();
      return this.#accept(call, await this.#once(call, { signal, pool, idleMs }));
    }
    return this.#accept(call, first);
  }

  async #once(
    call: Call,
    { signal, pool, idleMs }: { signal: AbortSignal | undefined; pool: keyof Pools; idleMs: number | undefined },
  ): Promise<Dispatcher.ResponseData> {
    const { auth, metrics } = this.#options;
    const { headers, tls } = await auth.credentials();
    const started = this.#timers.monotonic();
    const body = call.body === undefined ? {} : { body: JSON.stringify(call.body) };
    const silenceMs = idleMs ?? call.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    call.fence?.check();
    try {
      const response = await request(`${auth.server}${call.path}${queryOf(call)}`, {
        dispatcher: this.#pools.for(tls)[pool],
        method: call.method,
        headers: { ...this.#headers(call), ...headers },
        headersTimeout: Math.min(silenceMs, DEFAULT_TIMEOUT_MS),
        bodyTimeout: silenceMs,
        signal: signal ?? null,
        ...body,
      });
      metrics.restClientRequests.inc({ method: call.method, code: String(response.statusCode) });
      return response;
    } catch (error) {
      metrics.restClientRequests.inc({ method: call.method, code: "<error>" });
      throw error;
    } finally {
      metrics.restClientDuration.observe({ verb: call.method }, (this.#timers.monotonic() - started) / 1_000);
    }
  }

  #headers(call: Call): Record<string, string> {
    return {
      accept: call.accept ?? "application/json",
      "user-agent": this.#options.userAgent ?? "davit",
      ...(call.body === undefined ? {} : { "content-type": call.contentType ?? "application/json" }),
    };
  }

  async #accept(call: Call, response: Dispatcher.ResponseData): Promise<Dispatcher.ResponseData> {
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    throw new KubeApiError({
      status: response.statusCode,
      body: await errorBody(response),
      request: requestInfo(call.method, call.path, call.query?.["watch"] === "true"),
      retryAfterMs: secondsHeader(response.headers["retry-after"]),
      user: this.#options.auth.user?.(),
    });
  }

  /** The server may have a new certificate while we hold an old CA: look at the files again. */
  #failed(error: unknown, caller: AbortSignal | undefined): unknown {
    if (error instanceof KubeApiError) return error;
    const failure = connectionError(error, this.server, caller);
    if (failure instanceof KubeConnectionError && failure.code === "Certificate") this.#options.auth.refresh();
    return failure;
  }
}

function mergeSignals(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  return a && b ? AbortSignal.any([a, b]) : (a ?? b);
}

function queryOf({ query }: Call): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, value);
  return search.size === 0 ? "" : `?${search.toString()}`;
}

async function errorBody(response: Dispatcher.ResponseData): Promise<KubeStatus | undefined> {
  const length = Number(response.headers["content-length"] ?? 0);
  if (length > ERROR_BODY_BYTES) {
    await response.body.dump();
    return undefined;
  }
  try {
    return statusOf(JSON.parse(await response.body.text()));
  } catch {
    return undefined; // a proxy's page: its status says all
  }
}

/** `Retry-After` in seconds, as the API server sends it; ms. */
function secondsHeader(value: string | readonly string[] | undefined): number | undefined {
  return typeof value === "string" && /^\d{1,6}$/.test(value) ? Number(value) * 1_000 : undefined;
}
