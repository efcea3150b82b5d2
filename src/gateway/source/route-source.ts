import { ENTRY_SECRET_TYPE, INSTANCE_LABEL } from "../../api/names.ts";
import { SECRETS, type Secret } from "../../kube/core-types.ts";
import { Reflector } from "../../kube/reflector.ts";
import type { KubeTransport } from "../../kube/transport.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Readiness } from "../../observability/http.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import type { TableChange } from "../../routes/match-table.ts";
import { PUBLICATION_KEY } from "../../routes/publication.ts";
import { PublishedRoutes, type RejectedPublication } from "./published-routes.ts";
import { TableCache } from "./table-cache.ts";

/** A right that is missing may only be on its way through the API server: asked again after about this, ms. */
const REFUSED_DELAY_MS = 5_000;
/** Changes that come within this time are one change of the table, ms. */
const BATCH_MS = 10;
/** The cache file and whoever wants all entries are given them at most this often, ms. */
const SETTLE_MS = 1_000;

const REJECTION_CODES = ["Malformed", "TooNew", "Unusable", "PlaceTaken"] as const;

export interface RouteSourceOptions {
  readonly transport: KubeTransport;
  /** Namespace that holds the published routes of the release. */
  readonly namespace: string;
  readonly instance: string;
  /** Where the table is kept for a restart; without it a restart needs the API server. */
  readonly cacheDir: string | undefined;
  /** Whether an entry can be prepared. */
  readonly usable: (entry: RouteEntry) => boolean;
  /** Changes the table. */
  readonly apply: (change: TableChange) => void;
  /** Is given all entries after changes, at most once a second. */
  readonly onEntries?: (entries: readonly RouteEntry[]) => void;
  /** Everything up to `seq` was looked at, and is served unless `rejected`. */
  readonly onServed?: () => void;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * Keeps a gateway's table equal to the published routes: lists and watches their Secrets, and goes on with what it last knew for as long as the API
 * server is away, over restarts too.
 */
export class RouteSource {
  readonly #options: RouteSourceOptions;
  readonly #routes: PublishedRoutes;
  readonly #reflector: Reflector<Secret>;
  readonly #cache: TableCache | undefined;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #fromCache = false;
  #listTaken = false;
  #batch: NodeJS.Timeout | undefined;
  #settle: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #told = new Map<string, string>();
  #lastError: string | undefined;

  constructor(options: RouteSourceOptions) {
    const { transport, namespace, instance, cacheDir, metrics } = options;
    this.#options = options;
    this.#routes = new PublishedRoutes(options.usable);
    this.#cache = cacheDir === undefined ? undefined : new TableCache(cacheDir, instance);
    this.#reflector = new Reflector({
      transport,
      type: SECRETS,
      namespace,
      fieldSelector: `type=${ENTRY_SECRET_TYPE}`,
      labelSelector: `${INSTANCE_LABEL}=${instance}`,
      metrics,
      refusedDelayMs: REFUSED_DELAY_MS,
      onError: (error) => this.#onError(error),
    });
    this.#reflector.onChange(({ next, previous }) => {
      const name = (next ?? previous)?.metadata.name;
      if (name === undefined) return;
      if (next) this.#routes.observe(name, next.data?.[PUBLICATION_KEY] ?? "");
      else this.#routes.remove(name);
      this.#schedule();
    });
  }

  /** Serves what the cache knows, if there is one, and begins to list and watch. Does not wait for the API server. */
  async start(): Promise<void> {
    const cached = await this.#cache?.read();
    if (cached) {
      for (const [name, data] of cached) this.#routes.observe(name, data);
      this.#fromCache = true;
      this.#take();
      this.#options.logger.info({ routes: this.#routes.entries.length }, "serving the routes of the last run");
    }
    this.#running = this.#reflector.run(this.#stopping.signal);
    void this.#reflector.synced.then(() => this.#onFirstList());
  }

  /** Ends the watch and leaves the cache as it is served. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#batch);
    const late = this.#settle !== undefined;
    clearTimeout(this.#settle);
    await this.#running;
    if (late) this.#writeCache();
    await this.#writing;
  }

  /** Highest stamp looked at; see `SERVED_SEQ_ANNOTATION`. */
  get seq(): number {
    return this.#routes.seq;
  }

  /** By name of the Secret; see `REJECTED_ANNOTATION`. */
  get rejected(): ReadonlyMap<string, RejectedPublication> {
    return this.#routes.rejected;
  }

  /** Whether the routes are known, from the API server or from the last run. */
  readiness(): Readiness {
    if (this.#listTaken || this.#fromCache) return { ok: true, problems: [] };
    const cause = this.#lastError === undefined ? "" : `: ${this.#lastError}`;
    const problem = `no route is known: the Secrets in namespace ${this.#options.namespace} were not listed yet and there is no table of an earlier run${cause}`;
    return { ok: false, problems: [problem] };
  }

  #onFirstList(): void {
    if (this.#stopping.signal.aborted) return;
    this.#routes.retain(new Set([...this.#reflector.store.values()].map(({ metadata }) => metadata.name)));
    this.#take();
    this.#listTaken = true;
    this.#options.logger.info(
      { routes: this.#routes.entries.length, seq: this.seq },
      "the published routes are listed",
    );
    this.#options.onServed?.();
  }

  #schedule(): void {
    this.#batch ??= setTimeout(() => {
      this.#take();
      this.#options.onServed?.();
    }, BATCH_MS);
  }

  #take(): void {
    clearTimeout(this.#batch);
    this.#batch = undefined;
    this.#options.apply(this.#routes.take(this.#options.clock.now()));
    this.#tellRejected();
    this.#options.metrics.servedSeq.set(this.seq);
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      this.#options.onEntries?.(this.#routes.entries);
      this.#writeCache();
    }, SETTLE_MS);
  }

  /** Not before a list was seen: what is there now is already in the file. */
  #writeCache(): void {
    const cache = this.#cache;
    if (cache === undefined || !this.#listTaken) return;
    this.#writing = this.#writing
      .then(() => cache.write(this.#routes.inUse()))
      .catch((error: unknown) => this.#options.logger.warn({ err: error }, "the table of routes cannot be kept"));
  }

  #tellRejected(): void {
    const { metrics, logger } = this.#options;
    const { rejected } = this.#routes;
    for (const code of REJECTION_CODES) {
      metrics.rejectedPublications.set({ code }, [...rejected.values()].filter((one) => one.code === code).length);
    }
    const told = new Map<string, string>();
    for (const [secret, { code, seq, message }] of rejected) {
      told.set(secret, `${seq} ${code}`);
      if (this.#told.get(secret) === told.get(secret)) continue;
      logger.error({ secret, seq, code }, `${message}; what was served of it before still is`);
    }
    this.#told = told;
  }

  #onError(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === this.#lastError) return;
    this.#lastError = message;
    this.#options.logger.warn({ err: error }, "the published routes cannot be watched; what is known is served on");
  }
}
