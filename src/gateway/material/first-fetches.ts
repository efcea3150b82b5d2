import { BoundedMap } from "../../lib/bounded-map.ts";
import { rateKey } from "../../lib/rate-key.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";

/** First fetches for a route: so many at once, and so many a second. */
const ROUTE = { burst: 20, perSecond: 2 };
/** … of which one client (an IPv4 address, or a /64) can have so many. */
const CLIENT = { burst: 5, perSecond: 0.5 };
/** … and so many more for names that come again, which random ones do not. */
const REPEATED = { burst: 5, perSecond: 0.5 };
/** A name that was turned away counts as repeated when it comes again so much later, ms. */
const REPEATED_AFTER_MS = 2_000;
/** Routes, clients of a route and names turned away that are remembered: some MB at most. */
const MAX_ROUTES = 1_024;
const MAX_CLIENTS = 128;
const MAX_NAMES = 8_192;

interface Quota {
  readonly all: TokenBucket;
  readonly repeated: TokenBucket;
  readonly clients: BoundedMap<string, TokenBucket>;
}

/**
 * Decides which keys may be fetched that never were: anybody can send names of keys that do not exist. A flood from few addresses leaves the others their share.
 * In one from many, or from behind the same proxy as the provider (no trusted proxies), a genuine name comes through with its second attempt, since it is the same
 * name, as long as fewer than 8,192 names were made up between the two. What remains: whoever repeats thousands of made-up names from many addresses
 * leaves it to chance, one in as many as are sent in its place, until the name was fetched once; from then on it takes no part in this.
 */
export class FirstFetches {
  readonly #routes = new BoundedMap<string, Quota>(MAX_ROUTES);
  /** When a name was turned away first. */
  readonly #turnedAway = new BoundedMap<string, number>(MAX_NAMES);

  /**
   * Whether the key may be fetched now; counts as a fetch if so.
   *
   * @param name a digest of what names the key: it is remembered
   * @param now ms, monotonic
   */
  admit(name: string, { route, client }: { readonly route: string; readonly client: string }, now: number): boolean {
    const quota = this.#quotaOf(route, now);
    // The client's first: one whose share is used up must not use up the others'.
    if (bucketOf(quota, rateKey(client), now).take(now) === 0 && quota.all.take(now) === 0) return true;
    const since = this.#turnedAway.get(name);
    if (since === undefined) this.#turnedAway.set(name, now);
    if (since === undefined || now < since + REPEATED_AFTER_MS || quota.repeated.take(now) > 0) return false;
    this.#turnedAway.delete(name);
    return true;
  }

  #quotaOf(route: string, now: number): Quota {
    const known = this.#routes.get(route);
    if (known) return known;
    const quota = {
      all: bucket(ROUTE, now),
      repeated: bucket(REPEATED, now),
      clients: new BoundedMap<string, TokenBucket>(MAX_CLIENTS),
    };
    this.#routes.set(route, quota);
    return quota;
  }
}

function bucketOf({ clients }: Quota, client: string, now: number): TokenBucket {
  const known = clients.get(client);
  if (known) return known;
  const fresh = bucket(CLIENT, now);
  clients.set(client, fresh);
  return fresh;
}

function bucket({ burst, perSecond }: typeof ROUTE, now: number): TokenBucket {
  return new TokenBucket(burst, perSecond / 1_000, now);
}
