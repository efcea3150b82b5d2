import type { Timers } from "../../lib/timers.ts";
import type { BucketState, ObjectStore } from "../store/port.ts";
import { RunFailure } from "./failure.ts";
import type { StoreLimiter } from "./limiter.ts";

/** By so much the store's clock may differ from this one's: beyond, ages mean nothing, and S3 refuses signatures. */
export const MAX_SKEW_MS = 300_000;
/** Before a batch the state of the bucket is asked for again when it is older. */
const STATE_AGE_MS = 1_000;

const UNFIT: Readonly<Record<Exclude<BucketState["versioning"], "Enabled">, readonly [code: string, message: string]>> =
  {
    Suspended: [
      "VersioningSuspended",
      "versioning of the bucket is suspended: enable it, else a delete can take a newer object",
    ],
    Unversioned: [
      "VersioningNotEnabled",
      "the bucket has no versioning: enable it, else a delete takes what was written last",
    ],
  };

/** @throws {@link RunFailure} when versions of the bucket cannot be deleted safely, or at all */
export function checkBucket({ versioning, mfaDelete }: BucketState): void {
  if (versioning !== "Enabled") {
    const [code, message] = UNFIT[versioning];
    throw new RunFailure(code, message);
  }
  if (mfaDelete)
    throw new RunFailure(
      "MFADeleteEnabled",
      "the bucket wants a second factor for every delete: turn MFA delete off, or keep this bucket out",
    );
}

/** @throws {@link RunFailure} `ClockSkew` */
export function checkClock(skewMs: number | undefined): void {
  if (skewMs === undefined || Math.abs(skewMs) <= MAX_SKEW_MS) return;
  throw new RunFailure(
    "ClockSkew",
    `the store's clock differs from this one's by ${Math.round(skewMs / 1_000)} s, more than 300 s: set the clocks`,
  );
}

/** Keeps an eye on the bucket: what was true before may not be true before the next delete. */
export class BucketWatch {
  readonly #store: ObjectStore;
  readonly #limiter: StoreLimiter;
  readonly #timers: Timers;
  #asked: { readonly at: number; readonly state: Promise<BucketState> } | undefined;

  constructor(store: ObjectStore, limiter: StoreLimiter, timers: Timers) {
    this.#store = store;
    this.#limiter = limiter;
    this.#timers = timers;
  }

  /**
   * The state of the bucket, asked for at most a second ago.
   * @throws {@link RunFailure} when it is unfit
   */
  async check(signal: AbortSignal): Promise<BucketState> {
    const now = this.#timers.monotonic();
    const before = this.#asked;
    const isYoung = before !== undefined && now - before.at < STATE_AGE_MS;
    const asked = isYoung ? before : { at: now, state: this.#ask(signal) };
    this.#asked = asked;
    try {
      return await asked.state;
    } catch (error) {
      if (this.#asked === asked) this.#asked = undefined;
      throw error;
    }
  }

  /** Asks for what the next {@link check} wants to know. */
  prepare(signal: AbortSignal): void {
    this.check(signal).catch(() => undefined);
  }

  async #ask(signal: AbortSignal): Promise<BucketState> {
    const state = await this.#limiter.run(signal, () => this.#store.bucketState(signal));
    checkBucket(state);
    checkClock(this.#store.clockSkewMs());
    return state;
  }
}
