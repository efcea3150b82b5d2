import { sleep, systemTimers, type Timers } from "../lib/timers.ts";
import type { KubernetesMetrics } from "../observability/kubernetes-metrics.ts";
import { connectionError } from "./connection-error.ts";
import { isGone, KubeApiError, KubeConnectionError, retryAfterOf, type KubeStatus } from "./errors.ts";
import { JsonLines } from "./json-lines.ts";
import { ObjectCache, type ChangeHandler } from "./object-cache.ts";
import { keyOf, slim, type KubeObject, type Live } from "./objects.ts";
import { requestInfo } from "./request-info.ts";
import { isNewer } from "./resource-version.ts";
import { METADATA_WATCH, ResourceClient, type Selection } from "./resource-client.ts";
import { apiVersionOf, collectionPath, type ResourceType } from "./resource-type.ts";
import { RetryDelay } from "./retry-delay.ts";
import type { KubeTransport } from "./transport.ts";

/** A server sends a bookmark about once a minute, so this much silence means a dead connection, ms. */
const IDLE_MS = 150_000;
const MIN_DELAY_MS = 200;
const MAX_DELAY_MS = 30_000;
/** A right or a kind that is missing takes somebody's hand: asked this seldom, ms. */
const REFUSED_DELAY_MS = 30_000;
/** The server ends a watch after a random time in this range, s: client-go's lower half. */
const WATCH_SECONDS = { from: 240, to: 360 } as const;
/** A watch that ends sooner than this without an event failed, ms: else a server that closes at once would be hammered. */
const SHORT_WATCH_MS = 1_000;
/** After so many silent watches in a row without even a bookmark, the version itself is doubted: a restored server has not reached it yet. */
const MAX_IDLE = 2;

/** Why a reflector lacks its objects, and that only somebody's hand changes it. */
export type Refusal = "Forbidden" | "NotFound";

/** What a reflector watches, and how. */
export interface ReflectorOptions<T extends KubeObject> extends Selection {
  readonly transport: KubeTransport;
  readonly type: ResourceType<T>;
  /** Only this namespace; all, when absent. */
  readonly namespace?: string | undefined;
  /** What is kept of each object; default {@link slim}. Must keep name, namespace, uid and resourceVersion. */
  readonly transform?: (object: Live<T>) => Live<T>;
  readonly metrics: Pick<KubernetesMetrics, "watchErrors" | "watchRelists">;
  /** Every failure that is retried, and whatever a handler threw. */
  readonly onError?: (error: unknown) => void;
  /** The server began to refuse (403: no right; 404: no such kind), with the error; or answers again (`undefined`). */
  readonly onRefusal?: (refusal: Refusal | undefined, error: KubeApiError | undefined) => void;
  /**
   * A list is older than what was seen before: the server's data was restored from a backup. Called before the cache holds that list; whoever compares
   * versions with what it kept must forget it.
   */
  readonly onRestored?: () => void;
  readonly timers?: Timers;
  readonly pageSize?: number;
  readonly idleMs?: number;
  readonly minDelayMs?: number;
  readonly maxDelayMs?: number;
  readonly refusedDelayMs?: number;
}

interface WatchEvent<T extends KubeObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: Live<T> & KubeStatus;
}

/**
 * Keeps a copy of a kind's objects: lists them page by page, watches from the list's version, reconnects from the last version seen, and lists
 * anew when the server no longer knows that version (410). Never throws into its caller; retries for ever.
 */
export class Reflector<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly namespace: string | undefined;
  /** How long the connection may be silent, ms. */
  readonly idleMs: number;
  readonly #options: ReflectorOptions<T>;
  readonly #timers: Timers;
  readonly #client: ResourceClient<T>;
  readonly #cache: ObjectCache<T>;
  readonly #delay: RetryDelay;
  readonly #resource: string;
  #version = "";
  /** Last version of the server that was seen, also after a relist was decided. */
  #seen = "";
  #idle = 0;
  #interrupt = new AbortController();
  /** Who waits for a list that began after they asked. */
  #waiting: ((refusal: Refusal | undefined) => void)[] = [];
  #running = false;
  #synced = false;
  #resolveSynced: () => void = () => undefined;
  #lastContact = Number.NEGATIVE_INFINITY;
  #refusal: Refusal | undefined;
  /** Resolves with the first complete list. */
  readonly synced: Promise<void>;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.type = options.type;
    this.namespace = options.namespace;
    this.idleMs = options.idleMs ?? IDLE_MS;
    this.#timers = options.timers ?? systemTimers;
    this.#client = new ResourceClient(options.transport, options.type);
    this.#resource = options.type.group === "" ? options.type.plural : `${options.type.plural}.${options.type.group}`;
    this.#cache = new ObjectCache((error) => this.#report("Handler", error));
    this.#delay = new RetryDelay(options.minDelayMs ?? MIN_DELAY_MS, options.maxDelayMs ?? MAX_DELAY_MS);
    options.metrics.watchRelists.inc({ resource: this.#resource }, 0);
    this.synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  /** The objects by key (`namespace/name`). After a refusal or an outage: as they were last known. */
  get store(): ReadonlyMap<string, Live<T>> {
    return this.#cache.objects;
  }

  /** Whether a complete list was ever read. */
  get hasSynced(): boolean {
    return this.#synced;
  }

  /** When the server last said anything, ms of the monotonic clock; -Infinity before that. */
  get lastContact(): number {
    return this.#lastContact;
  }

  /** Set while the server refuses to list. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  /** Adds a handler; it hears at once of what is already known. What it throws is counted, reported and otherwise ignored. */
  onChange(handler: ChangeHandler<T>): void {
    this.#cache.onChange(handler);
  }

  /**
   * Lists and watches until the signal fires.
   * @throws Error when it already runs: two loops over one store would take each other's version
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new Error(`the reflector of ${this.#resource} already runs`);
    this.#running = true;
    try {
      while (!signal.aborted) {
        this.#interrupt = new AbortController();
        const interruptible = AbortSignal.any([signal, this.#interrupt.signal]);
        // oxlint-disable-next-line no-await-in-loop -- one connection after the other
        const delayMs = await this.#turn(interruptible);
        // oxlint-disable-next-line no-await-in-loop -- as above
        if (delayMs > 0) await sleep(this.#timers, delayMs, interruptible);
      }
    } finally {
      this.#running = false;
      this.#answer(this.#waiting, undefined);
    }
  }

  /**
   * Lists anew at once, whatever the watch says, as it may be half-open. Failures are retried with backoff.
   * @returns resolves when a list that began after this call is in the cache, when the server refused it (with the refusal), or when the run ends
   */
  relist(): Promise<Refusal | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#interrupt.abort();
    });
  }

  #answer(waiting: readonly ((refusal: Refusal | undefined) => void)[], refusal: Refusal | undefined): void {
    this.#waiting = this.#waiting.filter((one) => !waiting.includes(one));
    for (const resolve of waiting) resolve(refusal);
  }

  /** Forgets everything, telling handlers that it is gone: for a kind that the server no longer has. Not while running. */
  clear(): void {
    this.#version = "";
    this.#seen = "";
    this.#cache.replace(new Map());
  }

  /** One list if need be and one watch. @returns ms to wait before the next */
  async #turn(signal: AbortSignal): Promise<number> {
    try {
      if (this.#version === "" || this.#waiting.length > 0) await this.#list(signal);
      const began = this.#timers.monotonic();
      const events = await this.#watch(signal);
      if (events === 0 && this.#timers.monotonic() - began < SHORT_WATCH_MS) return this.#delay.next();
      this.#delay.reset();
      return 0;
    } catch (error) {
      return signal.aborted ? 0 : this.#afterFailure(error);
    }
  }

  #afterFailure(error: unknown): number {
    if (error instanceof IdleError) return this.#afterSilence();
    if (isGone(error) || isBadVersion(error)) {
      const first = this.#version !== "" && this.#delay.failures === 0;
      this.#doubt();
      const delayMs = this.#delay.next(retryAfterOf(error));
      return first ? 0 : delayMs;
    }
    this.#report(reasonOf(error), error);
    if (error instanceof KubeApiError && (error.code === "Forbidden" || error.code === "NotFound")) {
      this.#setRefusal(error.code, error);
      this.#answer(this.#waiting, error.code);
      const { refusedDelayMs = REFUSED_DELAY_MS } = this.#options;
      return refusedDelayMs * (0.75 + Math.random() / 2);
    }
    return this.#delay.next(retryAfterOf(error));
  }

  #afterSilence(): 0 {
    this.#idle += 1;
    if (this.#idle >= MAX_IDLE) this.#doubt();
    return 0;
  }

  /** The next turn lists. */
  #doubt(): void {
    this.#version = "";
    this.#idle = 0;
    this.#options.metrics.watchRelists.inc({ resource: this.#resource });
  }

  async #list(signal: AbortSignal): Promise<void> {
    const waiting = [...this.#waiting];
    const { labelSelector, fieldSelector, metadataOnly, pageSize, namespace, transform = slim } = this.#options;
    const fresh = new Map<string, Live<T>>();
    let version = "";
    const options = {
      signal,
      labelSelector,
      fieldSelector,
      metadataOnly,
      ...(pageSize === undefined ? {} : { pageSize }),
    };
    for await (const page of this.#client.pages(namespace, options)) {
      for (const object of page.items) fresh.set(keyOf(object), transform(object));
      version = page.resourceVersion;
    }
    this.#touch();
    this.#setRefusal(undefined, undefined);
    const isRestored = this.#seen !== "" && isNewer(this.#seen, version);
    if (isRestored) this.#options.onRestored?.();
    this.#cache.replace(fresh, isRestored);
    this.#version = version;
    this.#seen = version;
    this.#synced = true;
    this.#resolveSynced();
    this.#answer(waiting, undefined);
  }

  /** @returns how many events came, bookmarks among them */
  async #watch(signal: AbortSignal): Promise<number> {
    const { labelSelector, fieldSelector, metadataOnly, namespace, transport, type } = this.#options;
    const seconds = WATCH_SECONDS.from + Math.floor(Math.random() * (WATCH_SECONDS.to - WATCH_SECONDS.from));
    const query = {
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: this.#version,
      timeoutSeconds: String(seconds),
      labelSelector,
      fieldSelector,
    };
    const accept = metadataOnly ? METADATA_WATCH : undefined;
    const path = collectionPath(type, namespace);
    const chunks = await transport.watch({ path, query, signal, accept, idleMs: this.idleMs });
    this.#touch();
    this.#setRefusal(undefined, undefined);
    let events = 0;
    const lines = new JsonLines();
    try {
      for await (const chunk of chunks) {
        this.#touch();
        this.#idle = 0;
        for (const event of lines.push(chunk)) {
          this.#apply(event as WatchEvent<T>);
          events += 1;
        }
        this.#delay.reset();
      }
    } catch (error) {
      if (error instanceof KubeConnectionError && error.code === "Timeout") throw new IdleError();
      throw error instanceof SyntaxError ? connectionError(error, transport.server) : error;
    }
    return events;
  }

  #apply({ type, object }: WatchEvent<T>): void {
    if (type === "ERROR") {
      const request = requestInfo("GET", collectionPath(this.type, this.namespace), true);
      throw new KubeApiError({ status: object.code ?? 500, body: object, request });
    }
    if (type === "DELETED") this.#cache.delete(object);
    else if (type !== "BOOKMARK") {
      const { transform = slim } = this.#options;
      const kind = { apiVersion: apiVersionOf(this.type), kind: this.type.kind };
      this.#cache.put(transform({ ...kind, ...object }));
    }
    this.#version = object.metadata.resourceVersion;
    this.#seen = this.#version;
  }

  #touch(): void {
    this.#lastContact = this.#timers.monotonic();
  }

  #setRefusal(refusal: Refusal | undefined, error: KubeApiError | undefined): void {
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    this.#options.onRefusal?.(refusal, error);
  }

  #report(reason: string, error: unknown): void {
    this.#options.metrics.watchErrors.inc({ resource: this.#resource, reason });
    this.#options.onError?.(error);
  }
}

/** Nothing came for `idleMs`, not even a bookmark: the connection is taken for dead. */
class IdleError extends Error {}

/** The server will never serve this version: it is malformed, or of a future that a restored backup took back. */
function isBadVersion(error: unknown): boolean {
  if (!(error instanceof KubeApiError) || error.request.verb !== "watch") return false;
  return error.status === 400 || error.causes.includes("ResourceVersionTooLarge");
}

function reasonOf(error: unknown): string {
  return error instanceof KubeApiError || error instanceof KubeConnectionError ? error.code : "Other";
}
