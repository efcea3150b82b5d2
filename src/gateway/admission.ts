import type { CustodyHealth } from "../custody/port.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import type { GatewayReason } from "./refusals.ts";
import { rateKey } from "../lib/rate-key.ts";
import { TokenBucket } from "../lib/token-bucket.ts";

/** Nothing is taken from this share of maxmemory on: the rest belongs to the workers that empty the store. */
const SHED_AT_MEMORY_RATIO = 0.85;

/** Buckets kept for `by: SourceIP`, the oldest going first: about 2 MB. */
const MAX_CLIENTS = 10_000;

/** What admission asks of the world. */
export interface AdmissionOptions {
  readonly health: () => CustodyHealth;
  /** Events waiting in the route's destinations, as last seen. */
  readonly backlog: (route: string) => number;
  /** Gateway pods that share a rate of `by: Route`. */
  readonly pods: () => number;
}

/** What one route has in use in this process. Outlives the entry, else every edit would refill its bucket. */
interface Usage {
  inFlight: number;
  /** The entry that was seen last; compared by identity first, as it hardly ever changes. */
  entry: RouteEntry;
  bucket: TokenBucket | undefined;
  clients: Map<string, TokenBucket>;
}

/** Why a request is turned away, and when it may come again. */
export interface Turned {
  readonly reason: GatewayReason;
  /** Seconds; absent: the reason's own. */
  readonly retryAfter?: number;
}

/** Decides, before a body is read, whether a request may go on. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #usage = new Map<string, Usage>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /**
   * Takes a place for the request; {@link release} gives it back.
   *
   * @param client asked only when a rule needs it
   * @param now ms, monotonic
   */
  enter(route: PreparedRoute, client: () => string, now: number): Turned | undefined {
    if (route.suspended) return { reason: "Suspended" };
    if (route.sources && !route.sources(client())) return { reason: "SourceNotAllowed" };
    return this.#store() ?? this.#limits(route.entry, client, now);
  }

  /** {@link enter} for a request from inside the cluster, which rates and address ranges are not made for. */
  enterInside(route: PreparedRoute): Turned | undefined {
    if (route.suspended) return { reason: "Suspended" };
    return this.#store() ?? this.#place(this.#usageOf(route.entry));
  }

  release(route: PreparedRoute): void {
    const usage = this.#usage.get(route.entry.route);
    if (usage) usage.inFlight -= 1;
  }

  /** Forgets a route that is gone. What it still has in flight is given back to nobody. */
  forget(route: string): void {
    this.#usage.delete(route);
  }

  /** Requests of all routes in this process. */
  inFlight(): number {
    let sum = 0;
    for (const usage of this.#usage.values()) sum += usage.inFlight;
    return sum;
  }

  #store(): Turned | undefined {
    const { up, durable, memoryRatio } = this.#options.health();
    if (!up || !durable.ok) return { reason: "StoreUnavailable" };
    return memoryRatio >= SHED_AT_MEMORY_RATIO ? { reason: "StoreFull" } : undefined;
  }

  #limits(entry: RouteEntry, client: () => string, now: number): Turned | undefined {
    const usage = this.#usageOf(entry);
    const wait = entry.limits.rateLimit ? this.#bucket(usage, entry.limits.rateLimit, client, now).take(now) : 0;
    if (wait > 0) return { reason: "RateLimited", retryAfter: Math.max(1, Math.ceil(wait / 1_000)) };
    return this.#place(usage);
  }

  #place(usage: Usage): Turned | undefined {
    const { route, limits } = usage.entry;
    if (usage.inFlight >= limits.maxInFlightPerPod) return { reason: "TooManyInFlight" };
    if (this.#options.backlog(route) >= limits.maxBacklog) return { reason: "BacklogFull" };
    usage.inFlight += 1;
    return undefined;
  }

  #usageOf(entry: RouteEntry): Usage {
    const known = this.#usage.get(entry.route);
    if (known?.entry === entry) return known;
    if (known && sameRate(known.entry, entry)) {
      known.entry = entry;
      return known;
    }
    const usage: Usage = { inFlight: known?.inFlight ?? 0, entry, bucket: undefined, clients: new Map() };
    this.#usage.set(entry.route, usage);
    return usage;
  }

  #bucket(
    usage: Usage,
    limit: NonNullable<RouteEntry["limits"]["rateLimit"]>,
    client: () => string,
    now: number,
  ): TokenBucket {
    const perMs = limit.requests / limit.perMs;
    if (limit.by === "Route") {
      const pods = Math.max(1, this.#options.pods());
      return (usage.bucket ??= new TokenBucket(Math.max(1, limit.burst / pods), perMs / pods, now));
    }
    const key = rateKey(client());
    let bucket = usage.clients.get(key);
    if (bucket) return bucket;
    bucket = new TokenBucket(limit.burst, perMs, now);
    if (usage.clients.size >= MAX_CLIENTS) usage.clients.delete(usage.clients.keys().next().value ?? "");
    usage.clients.set(key, bucket);
    return bucket;
  }
}

function sameRate(before: RouteEntry, after: RouteEntry): boolean {
  return JSON.stringify(before.limits.rateLimit) === JSON.stringify(after.limits.rateLimit);
}
