import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { Timers } from "../../lib/timers.ts";
import type { VersionFacts } from "../plan/types.ts";
import { type ObjectStore, StoreError, type VersionEntry } from "../store/port.ts";
import { RunFailure } from "./failure.ts";
import type { StoreLimiter } from "./limiter.ts";

/** What the store said of a version, and when it was asked, monotonic ms. */
export interface KnownFacts {
  readonly facts: VersionFacts;
  readonly askedAt: number;
}

export type Known = ReadonlyMap<string, KnownFacts>;

export interface FactReaderOptions {
  readonly store: ObjectStore;
  readonly limiter: StoreLimiter;
  readonly timers: Timers;
  readonly exclusions: CleanupSnapshot["exclusions"];
}

/** Asks the store what may keep a version: a HEAD each, and the tags where there are some that matter. */
export class FactReader {
  readonly #options: FactReaderOptions;
  #needsLockRights = false;
  #probe: Promise<void> = Promise.resolve();
  #probed: boolean;

  constructor(options: FactReaderOptions) {
    this.#options = options;
    this.#probed = options.exclusions.tags.length === 0;
  }

  /**
   * Locks of versions matter: the right to read them, as that to read tags where those matter, is made sure of on the first version that is asked for. A HEAD
   * without these rights silently shows none.
   */
  needLockRights(): void {
    const { objectLock, legalHold } = this.#options.exclusions;
    this.#needsLockRights = objectLock || legalHold;
    this.#probed &&= !this.#needsLockRights;
  }

  /**
   * By version id. Delete markers are left out: they have no tags and no lock, and S3 refuses a HEAD of one
   * (https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html).
   * @throws {@link RunFailure} `LockRightsMissing`, or what the store rejects with
   */
  async read(entries: readonly VersionEntry[], signal: AbortSignal): Promise<Map<string, KnownFacts>> {
    const known = new Map<string, KnownFacts>();
    const versions = entries.filter(({ type }) => type === "Version");
    for (const version of versions) {
      if (this.#probed) break;
      await this.#probeOnce(version, signal);
    }
    await Promise.all(
      versions.map(async (version) => {
        const askedAt = this.#options.timers.monotonic();
        known.set(version.versionId, { facts: await this.#factsOf(version, signal), askedAt });
      }),
    );
    return known;
  }

  async #factsOf(version: VersionEntry, signal: AbortSignal): Promise<VersionFacts> {
    const { store, limiter, exclusions } = this.#options;
    const head = await limiter.runMany(signal, () => store.head(version, signal));
    if (!head.exists) return head;
    const wantsTags = head.tagCount > 0 && exclusions.tags.length > 0;
    const tags = wantsTags ? await limiter.runMany(signal, () => store.tags(version, signal)) : [];
    const { legalHold, retention } = head;
    return { exists: true, legalHold, tags, ...(retention && { retainUntil: retention.until }) };
  }

  /** One at a time: whoever comes meanwhile waits for the answer. */
  async #probeOnce(version: VersionEntry, signal: AbortSignal): Promise<void> {
    const turn = this.#probe.then(() => (this.#probed ? undefined : this.#probeRights(version, signal)));
    this.#probe = turn.catch(() => undefined);
    await turn;
  }

  async #probeRights(version: VersionEntry, signal: AbortSignal): Promise<void> {
    const { store, limiter, exclusions } = this.#options;
    // Rejects by itself, and says which right is missing.
    if (exclusions.tags.length > 0) await limiter.run(signal, () => store.tags(version, signal));
    try {
      if (this.#needsLockRights) await limiter.run(signal, () => store.probeLockRights(version, signal));
      this.#probed = true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // Gone meanwhile: the next one is asked.
      if (error.code === "NoSuchKey") return;
      if (error.code !== "AccessDenied") throw error;
      throw new RunFailure(
        "LockRightsMissing",
        "retention and legal hold cannot be read: grant s3:GetObjectRetention and s3:GetObjectLegalHold, else locked versions look free",
        { cause: error },
      );
    }
  }
}
