import type { ObjectStore, ObjectTag, VersionDeleter, VersionEntry, VersionId } from "../store/port.ts";

/** How a bucket is made. */
export interface BucketOptions {
  /** Versions may be locked. */
  readonly objectLock?: boolean;
  /** Versioning was never enabled. */
  readonly unversioned?: boolean;
}

/** What a test writes a version with. */
export interface PutOptions {
  readonly body?: string;
  readonly tags?: readonly ObjectTag[];
  readonly legalHold?: boolean;
  readonly retention?: { readonly mode: "Governance" | "Compliance" /** Unix ms. */; readonly until: number };
}

/** What the store's owner does to a bucket. None of it is in the port. */
export interface BucketOwner {
  /** @returns the version's id */
  put(key: string, options?: PutOptions): Promise<string>;
  /** Deletes without a version. @returns the delete marker's id */
  mark(key: string): Promise<string>;
  /** Ends a legal hold. */
  release(version: VersionId): Promise<void>;
  suspendVersioning(): Promise<void>;
  enableVersioning(): Promise<void>;
  /** Everything there is, by another way than the port's. */
  all(): Promise<readonly VersionEntry[]>;
}

/** A bucket with the two ports over it. */
export interface StoreFixture {
  readonly store: ObjectStore;
  readonly deleter: VersionDeleter;
  readonly owner: BucketOwner;
}

/** Makes a bucket of its own for a test. */
export type OpenBucket = (options?: BucketOptions) => Promise<StoreFixture>;

/** A signal that nobody aborts. */
export const CALM: AbortSignal = new AbortController().signal;

/** All entries under a prefix, in pages of a size. */
export async function listAll(store: ObjectStore, prefix: string, maxEntries = 1_000): Promise<VersionEntry[]> {
  const entries: VersionEntry[] = [];
  let page = await store.listVersions({ prefix, maxEntries }, CALM);
  entries.push(...page.entries);
  while (page.next !== undefined) {
    // oxlint-disable-next-line no-await-in-loop -- a page names the next one
    page = await store.listVersions({ prefix, maxEntries, after: page.next }, CALM);
    entries.push(...page.entries);
  }
  return entries;
}

/** Keys of current objects under a prefix. */
export async function currentKeys(store: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of store.listKeys(prefix, CALM)) keys.push(key);
  return keys;
}

/** As a line that a failed comparison shows well. */
export function line({ key, versionId, type, isLatest }: VersionEntry): string {
  return `${key} ${versionId} ${type}${isLatest ? " latest" : ""}`;
}
