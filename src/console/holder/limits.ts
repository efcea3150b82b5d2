import type { IncomingMessage } from "node:http";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { rateKey } from "../../lib/rate-key.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { Refused } from "../refusals.ts";
import type { Holder } from "./holder.ts";

/** How often something may be done: so often at once, then evenly. */
interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Requests of one destination's holders. */
const CALLS: Rate = { burst: 50, perSecond: 10 };
/** Requests of one client (an address, or the /64 of one) without a token that is known. */
const STRANGERS: Rate = { burst: 20, perSecond: 1 };
/** Test events of one destination: each is an event of a route that others use too. */
const TESTS: Rate = { burst: 5, perSecond: 0.1 };

/** Clients and destinations that are remembered. */
const MAX_KNOWN = 10_000;

/** What holders, and strangers, may do how often. */
export class HolderLimits {
  readonly #now: () => number;
  readonly #calls: Buckets;
  readonly #strangers: Buckets;
  readonly #tests: Buckets;

  /** @param now ms of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#calls = new Buckets(CALLS);
    this.#strangers = new Buckets(STRANGERS);
    this.#tests = new Buckets(TESTS);
  }

  /** @throws Refused `RateLimited` */
  readonly admit = ({ socket }: Pick<IncomingMessage, "socket">, holder: Holder | undefined): void => {
    if (holder === undefined) this.#strangers.take(rateKey(socket.remoteAddress ?? ""), this.#now());
    else this.#calls.take(holder.name, this.#now());
  };

  /** @throws Refused `RateLimited` */
  readonly admitTest = (holder: Holder): void => this.#tests.take(holder.name, this.#now());
}

/** A bucket for each of many. */
class Buckets {
  readonly #rate: Rate;
  readonly #buckets = new BoundedMap<string, TokenBucket>(MAX_KNOWN);

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  take(key: string, now: number): void {
    const { burst, perSecond } = this.#rate;
    const bucket = this.#buckets.get(key) ?? new TokenBucket(burst, perSecond / 1_000, now);
    this.#buckets.set(key, bucket);
    const wait = bucket.take(now);
    if (wait === 0) return;
    throw new Refused("RateLimited", { headers: { "retry-after": String(Math.ceil(wait / 1_000)) } });
  }
}
