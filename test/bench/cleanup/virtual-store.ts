import type {
  BucketState,
  DeleteOutcome,
  ListRequest,
  ObjectStore,
  ObjectTag,
  VersionDeleter,
  VersionEntry,
  VersionHead,
  VersionId,
  VersionPage,
} from "../../../src/cleanup/store/port.ts";

export interface VirtualBucket {
  readonly prefix: string;
  readonly keys: number;
  /** Of each key. */
  readonly versions: number;
  /** Of all of them, Unix ms. */
  readonly lastModified: number;
}

/** Digits of a key's number, so that keys are in order. */
const DIGITS = 9;

/**
 * A bucket of any size that takes a bit of memory for each version: entries are made up when they are listed. For measuring what a run itself holds; it has no
 * locks, no tags and no faults.
 */
export class VirtualStore implements ObjectStore {
  readonly #bucket: VirtualBucket;
  readonly #gone: Uint8Array;
  deleted = 0;

  constructor(bucket: VirtualBucket) {
    this.#bucket = bucket;
    this.#gone = new Uint8Array(Math.ceil((bucket.keys * bucket.versions) / 8));
  }

  bucketState(): Promise<BucketState> {
    return Promise.resolve({ versioning: "Enabled", mfaDelete: false, objectLock: false });
  }

  listVersions({ prefix, maxEntries, after }: ListRequest): Promise<VersionPage> {
    const { keys, versions } = this.#bucket;
    if (prefix !== this.#bucket.prefix) return Promise.resolve({ entries: [] });
    const entries: VersionEntry[] = [];
    let at = after === undefined ? 0 : this.#after(after.key, after.versionId);
    for (; at < keys * versions && entries.length < maxEntries; at += 1) {
      if (!this.#isGone(at)) entries.push(this.#entry(at));
    }
    const last = entries.at(-1);
    const isMore = at < keys * versions && last !== undefined;
    return Promise.resolve({ entries, ...(isMore && { next: { key: last.key, versionId: last.versionId } }) });
  }

  head(version: VersionId): Promise<VersionHead> {
    if (this.#isGone(this.#indexOf(version))) return Promise.resolve({ exists: false });
    const { lastModified } = this.#bucket;
    return Promise.resolve({ exists: true, lastModified, tagCount: 0, legalHold: false });
  }

  hasMarker(): Promise<boolean> {
    return Promise.resolve(false);
  }

  tags(): Promise<readonly ObjectTag[]> {
    return Promise.resolve([]);
  }

  probeLockRights(): Promise<void> {
    return Promise.resolve();
  }

  async *listKeys(): AsyncGenerator<string> {}

  read(): Promise<Buffer> {
    return Promise.reject(new RangeError("there are no manifests here"));
  }

  clockSkewMs(): number {
    return 0;
  }

  close(): void {}

  deleter(): VersionDeleter {
    const remove = (version: VersionId): DeleteOutcome => {
      const at = this.#indexOf(version);
      if (!this.#isGone(at)) this.deleted += 1;
      this.#gone[at >> 3] = (this.#gone[at >> 3] ?? 0) | (1 << (at & 7));
      return { type: "deleted" };
    };
    return {
      deleteBatch: (batch) => Promise.resolve(batch.map(remove)),
      deleteOne: (version) => Promise.resolve(remove(version)),
    };
  }

  /** Newest first within a key. */
  #entry(at: number): VersionEntry {
    const { prefix, versions, lastModified } = this.#bucket;
    const version = at % versions;
    return {
      key: prefix + String(Math.floor(at / versions)).padStart(DIGITS, "0"),
      versionId: String(version),
      type: "Version",
      isLatest: version === 0 || this.#areGone(at - version, at),
      lastModified: lastModified - version,
      size: 100,
    };
  }

  #areGone(from: number, to: number): boolean {
    for (let at = from; at < to; at += 1) if (!this.#isGone(at)) return false;
    return true;
  }

  #isGone(at: number): boolean {
    return ((this.#gone[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
  }

  #indexOf({ key, versionId }: VersionId): number {
    return Number(key.slice(this.#bucket.prefix.length)) * this.#bucket.versions + Number(versionId);
  }

  #after(key: string, versionId: string | undefined): number {
    return this.#indexOf({ key, versionId: versionId ?? String(this.#bucket.versions - 1) }) + 1;
  }
}
