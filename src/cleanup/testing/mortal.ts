import { type RunRecords } from "../records/port.ts";
import { type ObjectStore, StoreError, type VersionDeleter } from "../store/port.ts";

/** What a process does outside of itself, until it dies at a step: the step fails, before or after it took effect, and so does every one after it. */
export class Mortal {
  steps = 0;
  #diesAt: number;
  readonly #hasEffect: boolean;

  /** @param diesAt number of the step, from 1; by default it lives on */
  constructor(diesAt = Number.POSITIVE_INFINITY, hasEffect = true) {
    this.#diesAt = diesAt;
    this.#hasEffect = hasEffect;
  }

  get isDead(): boolean {
    return this.steps >= this.#diesAt;
  }

  /** It dies now: of the step under way nobody hears, and no other begins. */
  kill(): void {
    this.#diesAt = this.steps;
  }

  async step<T>(call: () => Promise<T>): Promise<T> {
    if (this.isDead) throw dead();
    this.steps += 1;
    const isLast = this.isDead;
    if (isLast && !this.#hasEffect) throw dead();
    const result = await call();
    if (isLast || this.isDead) throw dead();
    return result;
  }

  /** What it has of them. */
  store(store: ObjectStore): ObjectStore {
    return {
      bucketState: (signal) => this.step(() => store.bucketState(signal)),
      listVersions: (request, signal) => this.step(() => store.listVersions(request, signal)),
      head: (version, signal) => this.step(() => store.head(version, signal)),
      hasMarker: (marker, signal) => this.step(() => store.hasMarker(marker, signal)),
      tags: (version, signal) => this.step(() => store.tags(version, signal)),
      probeLockRights: (version, signal) => this.step(() => store.probeLockRights(version, signal)),
      listKeys: (prefix, signal) => store.listKeys(prefix, signal),
      read: (key, most, signal) => this.step(() => store.read(key, most, signal)),
      clockSkewMs: () => store.clockSkewMs(),
      close: () => undefined,
    };
  }

  deleter(deleter: VersionDeleter): VersionDeleter {
    return {
      deleteBatch: (versions, signal) => this.step(() => deleter.deleteBatch(versions, signal)),
      deleteOne: (version, signal) => this.step(() => deleter.deleteOne(version, signal)),
    };
  }

  records(records: RunRecords): RunRecords {
    return {
      open: () => records.open(),
      policy: () => records.policy(),
      onChange: (listener) => records.onChange(() => (this.isDead ? undefined : listener())),
      write: (run, status) => this.step(() => records.write(run, status)),
    };
  }
}

const dead = () => new StoreError("Unreachable", "the process is dead", { retryable: true });
