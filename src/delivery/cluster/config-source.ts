import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { workerConfigName } from "../../api/names.ts";
import { SECRETS, type Secret } from "../../kube/core-types.ts";
import { Reflector } from "../../kube/reflector.ts";
import type { KubeTransport } from "../../kube/transport.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Readiness } from "../../observability/http.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { WORKER_CONFIG_KEY } from "../../routes/worker-config.ts";
import type { SharedConfig } from "../worker-destinations.ts";
import { ConfigParts } from "./config-parts.ts";

interface Watch {
  readonly ending: AbortController;
  readonly reflector: Reflector<Secret>;
  readonly running: Promise<void>;
}

/** A right that is missing may only be on its way through the API server: asked again after about this, ms. */
const REFUSED_DELAY_MS = 5_000;
/** Changes that come within this time are one, ms. */
const BATCH_MS = 10;

const REJECTION_CODES = ["Malformed", "TooNew"] as const;

export interface ConfigSourceOptions {
  readonly transport: KubeTransport;
  /** Where the config Secrets lie. */
  readonly namespace: string;
  /** Start of their names. */
  readonly configName: string;
  /** Where part 0 is mounted; without it a start needs the API server. */
  readonly configDir: string | undefined;
  /** Is told what to go by, at the start and whenever it may have changed. */
  readonly onRoutes: (routes: readonly RouteEntry[], shared: SharedConfig) => void;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Follows a worker's config: part 0 as it is mounted, then all parts as the API server has them, each watched by its name. */
export class ConfigSource {
  readonly #options: ConfigSourceOptions;
  readonly #parts = new ConfigParts();
  readonly #watches = new Map<number, Watch>();
  #batch: NodeJS.Timeout | undefined;
  #stopped = false;
  #told = new Map<string, string>();
  #lastError: string | undefined;

  constructor(options: ConfigSourceOptions) {
    this.#options = options;
  }

  /** Reads what is mounted and begins to watch. Does not wait for the API server. */
  async start(): Promise<void> {
    const { configDir } = this.#options;
    const mounted = configDir && (await readFile(join(configDir, WORKER_CONFIG_KEY)).catch(() => undefined));
    if (mounted) this.#parts.observe(0, mounted);
    this.#take();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#batch);
    for (const { ending } of this.#watches.values()) ending.abort();
    await Promise.all([...this.#watches.values()].map(({ running }) => running));
  }

  /** Whether the routes are known. */
  readiness(): Readiness {
    if (this.#parts.routes !== undefined) return { ok: true, problems: [] };
    const cause = this.#lastError === undefined ? "" : `: ${this.#lastError}`;
    const { configName, namespace } = this.#options;
    const problem = `no config is known: neither a file at worker.configDir nor the Secrets ${configName}-0 … in namespace ${namespace} have it whole${cause}`;
    return { ok: false, problems: [problem] };
  }

  #take(): void {
    this.#batch = undefined;
    const { routes, parts, seq } = this.#parts;
    this.#watchParts(parts);
    this.#tellRejected();
    if (routes === undefined) return;
    this.#options.metrics.servedSeq.set(seq);
    this.#options.onRoutes(routes, { destinations: this.#parts.destinations, isLive: () => this.isLive() });
  }

  /** Whether what is known here is whole and the API server was heard of lately: during an outage things are added unseen. */
  isLive(): boolean {
    if (this.#parts.rejected.size > 0) return false;
    const now = systemClock.monotonic();
    const reflectors = [...this.#watches.values()].map(({ reflector }) => reflector);
    return (
      reflectors.length === this.#parts.parts &&
      reflectors.every((one) => one.hasSynced && one.refusal === undefined && now - one.lastContact <= one.idleMs)
    );
  }

  #watchParts(parts: number): void {
    for (let part = 0; part < parts; part += 1) if (!this.#watches.has(part)) this.#watch(part);
    for (const [part, { ending }] of this.#watches) {
      if (part < parts) continue;
      ending.abort();
      this.#watches.delete(part);
    }
  }

  #watch(part: number): void {
    const { transport, namespace, configName, metrics } = this.#options;
    const reflector = new Reflector<Secret>({
      transport,
      type: SECRETS,
      namespace,
      // Only this form may be allowed by a Role with resourceNames (kubernetes.io/docs, "Using RBAC Authorization").
      fieldSelector: `metadata.name=${workerConfigName(configName, part)}`,
      metrics,
      refusedDelayMs: REFUSED_DELAY_MS,
      onError: (error) => this.#onError(error),
    });
    reflector.onChange(({ next }) => {
      if (next === undefined || this.#stopped) return;
      this.#parts.observe(part, Buffer.from(next.data?.[WORKER_CONFIG_KEY] ?? "", "base64"));
      this.#batch ??= setTimeout(() => this.#take(), BATCH_MS);
    });
    const ending = new AbortController();
    this.#watches.set(part, { ending, reflector, running: reflector.run(ending.signal) });
  }

  #tellRejected(): void {
    const { metrics, logger } = this.#options;
    const { rejected } = this.#parts;
    for (const code of REJECTION_CODES) {
      metrics.rejectedPublications.set({ code }, [...rejected.values()].filter((one) => one.code === code).length);
    }
    const told = new Map([...rejected].map(([what, { code, message }]) => [what, `${code} ${message}`]));
    for (const [what, { code, message }] of rejected) {
      if (this.#told.get(what) !== told.get(what)) {
        logger.error({ what, code }, `${message}; what was known of it before still holds`);
      }
    }
    this.#told = told;
  }

  #onError(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === this.#lastError) return;
    this.#lastError = message;
    this.#options.logger.warn({ err: error }, "the worker's config cannot be watched; what is known still holds");
  }
}
