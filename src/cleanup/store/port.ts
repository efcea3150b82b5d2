import type { StoreCallReason } from "../../api/store-reasons.ts";

/**
 * What cleanup needs of an object store, and no verb more. A dry run gets an {@link ObjectStore} only; whoever deletes is handed a {@link VersionDeleter} as
 * well. Every call rejects with a {@link StoreError} and nothing else, and gives up with its signal.
 */
export interface ObjectStore {
  /** How the bucket is set up now. */
  bucketState(signal: AbortSignal): Promise<BucketState>;
  /**
   * A page of the versions and delete markers under a prefix: keys in the order of their UTF-8 bytes, within a key the newest first. Rejects with
   * `InvalidListing` what is no such page: out of order, outside the prefix, truncated without a marker that is its last entry.
   */
  listVersions(request: ListRequest, signal: AbortSignal): Promise<VersionPage>;
  /** What the store knows of one version now; of a delete marker nothing. Rejects when that cannot be told from a version that is there. */
  head(version: VersionId, signal: AbortSignal): Promise<VersionHead>;
  /** Whether a delete marker is there now. */
  hasMarker(marker: VersionId, signal: AbortSignal): Promise<boolean>;
  /** Tags of a version; none when it is absent. */
  tags(version: VersionId, signal: AbortSignal): Promise<readonly ObjectTag[]>;
  /**
   * Asks for retention and legal hold of a version by the calls that need the rights for it: {@link head} leaves both out, silently, for who may not read
   * them. Rejects with `AccessDenied`.
   */
  probeLockRights(version: VersionId, signal: AbortSignal): Promise<void>;
  /** Keys of current objects under a prefix, in pages: which manifests there are. */
  listKeys(prefix: string, signal: AbortSignal): AsyncIterable<string>;
  /** Body of a current object. Rejects with `ManifestTooLarge` beyond `maxBytes`, with `NoSuchKey` when it is gone. */
  read(key: string, maxBytes: number, signal: AbortSignal): Promise<Buffer>;
  /** The store's clock minus this one's as of the last answer, ms; `undefined` before the first, or where the store sends no `Date`. */
  clockSkewMs(): number | undefined;
  close(): void;
}

/** The only verbs that change something. There is no delete without a version: that would make a delete marker. */
export interface VersionDeleter {
  /**
   * Deletes 1 to {@link MAX_BATCH} versions by one call. Rejects when nothing is known of any of them, and with `BatchTooLarge` before anything is sent.
   * @returns one outcome for each, in their order
   */
  deleteBatch(versions: readonly VersionId[], signal: AbortSignal): Promise<readonly DeleteOutcome[]>;
  /** Deletes one version by the call for one: for keys that a batch cannot carry. */
  deleteOne(version: VersionId, signal: AbortSignal): Promise<DeleteOutcome>;
}

/** Most versions of one batch; S3 refuses 1,001 (https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html). */
export const MAX_BATCH = 1_000;

/** One version for ever. `"null"` is none: another object takes its place under the same name. */
export interface VersionId {
  readonly key: string;
  readonly versionId: string;
}

export interface BucketState {
  readonly versioning: "Enabled" | "Suspended" | "Unversioned";
  readonly mfaDelete: boolean;
  /** It has a lock configuration: versions may have retention and legal hold. */
  readonly objectLock: boolean;
}

export interface ListRequest {
  readonly prefix: string;
  /** 1 to 1,000 entries. */
  readonly maxEntries: number;
  /** The marker of the page before. */
  readonly after?: PageMarker;
}

/** Where a listing goes on. Without `versionId`: at the first key after `key`. */
export interface PageMarker {
  readonly key: string;
  readonly versionId?: string;
}

export interface VersionPage {
  readonly entries: readonly VersionEntry[];
  /** Absent: this was the last. */
  readonly next?: PageMarker;
}

export interface VersionEntry extends VersionId {
  readonly type: "Version" | "DeleteMarker";
  readonly isLatest: boolean;
  /** Unix ms; S3 lists whole seconds. */
  readonly lastModified: number;
  /** Bytes; 0 of a delete marker. */
  readonly size: number;
}

export type VersionHead =
  | { readonly exists: false }
  | {
      readonly exists: true;
      /** Unix ms. That of the listing decides: where tags or a lock of a version were changed since, Ceph tells the time of that change here. */
      readonly lastModified: number;
      /** 0 also for who may not read them: S3 leaves it out (https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html). */
      readonly tagCount: number;
      readonly legalHold: boolean;
      /** Absent: none. */
      readonly retention?: { readonly mode: "Governance" | "Compliance" /** Unix ms. */; readonly until: number };
    };

export interface ObjectTag {
  readonly key: string;
  readonly value: string;
}

/** What became of one version. An absent one is reported as deleted by S3; nothing tells them apart but a look before. */
export type DeleteOutcome =
  | { readonly type: "deleted" }
  /** The store refused it. `retryable`: trying again may help. */
  | { readonly type: "refused"; readonly code: string; readonly retryable: boolean }
  /** The answer does not name it. */
  | { readonly type: "unaccounted" };

/** Why a store did not do what was asked: also the reason of a run that ends by it. */
export type StoreErrorReason = StoreCallReason | "NoSuchKey" | "ManifestTooLarge" | "BatchTooLarge" | "Aborted";

/** A call of a store that failed. Its message says what was asked and what was answered, never a credential. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorReason;
  /** Trying again may help. */
  readonly retryable: boolean;

  constructor(
    code: StoreErrorReason,
    message: string,
    options: { readonly retryable: boolean; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable;
  }
}
