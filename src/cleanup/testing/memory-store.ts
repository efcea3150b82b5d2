import { compareKeys } from "../plan/key-order.ts";
import { checkPage } from "../store/check-page.ts";
import {
  type BucketState,
  type DeleteOutcome,
  type ListRequest,
  MAX_BATCH,
  type ObjectStore,
  type ObjectTag,
  type PageMarker,
  StoreError,
  type StoreErrorReason,
  type VersionDeleter,
  type VersionEntry,
  type VersionHead,
  type VersionId,
  type VersionPage,
} from "../store/port.ts";

/** A call of the store, as it is made. */
export interface StoreCall {
  readonly verb:
    | "bucketState"
    | "listVersions"
    | "head"
    | "hasMarker"
    | "tags"
    | "probeLockRights"
    | "listKeys"
    | "read"
    | "delete";
  /** Prefix of a listing, key of a read, versions of a delete. */
  readonly prefix?: string;
  readonly key?: string;
  readonly versions?: readonly VersionId[];
  /** Counts calls of the same verb, from 1. */
  readonly nth: number;
}

/** What goes wrong, and when. All may change the store: that is how something comes between two calls. */
export interface Faults {
  /** Before the call takes effect: throw what the store is to say, or wait. */
  before?(call: StoreCall): void | Promise<void>;
  /** When it took effect and nobody knows yet: throw to lose the answer. */
  after?(call: StoreCall): void | Promise<void>;
  /** Another page than the true one; the port's own checks come after it. */
  page?(page: VersionPage, request: ListRequest): VersionPage;
  /** What is said of versions that were asked to be deleted; those not `deleted` stay. */
  outcome?(version: VersionId, call: StoreCall): DeleteOutcome | undefined;
}

export interface NewVersion {
  /** Unix ms. Default: one second after the last one. */
  readonly at?: number;
  readonly size?: number;
  readonly tags?: readonly ObjectTag[];
  readonly body?: string;
  readonly legalHold?: boolean;
  readonly retention?: { readonly mode: "Governance" | "Compliance"; readonly until: number };
}

interface Stored {
  readonly versionId: string;
  readonly type: VersionEntry["type"];
  readonly lastModified: number;
  readonly size: number;
  readonly body: string;
  tags: readonly ObjectTag[];
  legalHold: boolean;
  retention: NewVersion["retention"];
}

/**
 * A bucket in memory, for faults that a real store does not make on demand. It keeps to the port's suite as a real one does; its listing loses the rest of a key
 * whose marker version is gone, as Ceph RGW's does.
 */
export class MemoryStore implements ObjectStore {
  versioning: BucketState["versioning"] = "Enabled";
  mfaDelete = false;
  objectLock = false;
  /** Its clock minus this one's, ms. */
  skewMs: number | undefined = 0;
  /** Who asks may not read retention and legal hold: HEAD leaves both out. */
  deniesLockRights = false;
  /** Who asks may not read tags: HEAD leaves their number out. */
  deniesTags = false;
  faults: Faults = {};
  readonly calls: StoreCall[] = [];
  /** Unix ms; locks end by it. */
  readonly now: () => number;
  /** Newest first. */
  readonly #keys = new Map<string, Stored[]>();
  #sorted: string[] | undefined = [];
  readonly #counts = new Map<StoreCall["verb"], number>();
  #versions = 0;
  #lastAt: number;

  constructor(options: { readonly now?: () => number; readonly firstAt?: number } = {}) {
    this.now = options.now ?? Date.now;
    this.#lastAt = options.firstAt ?? Date.UTC(2026, 0, 1);
  }

  /** Writes a version. @returns its id: `null` unless versioning is enabled */
  put(key: string, options: NewVersion = {}): string {
    const { body = "", size = body.length, tags = [], legalHold = false, retention } = options;
    return this.#write(key, { type: "Version", size, body, tags, legalHold, retention }, options.at);
  }

  /** Deletes without a version: writes a delete marker. */
  mark(key: string, at?: number): string {
    const marker = {
      type: "DeleteMarker",
      size: 0,
      body: "",
      tags: [],
      legalHold: false,
      retention: undefined,
    } as const;
    return this.#write(key, marker, at);
  }

  /** Changes what protects a version. @throws RangeError when there is none */
  protect(version: VersionId, change: Pick<NewVersion, "tags" | "legalHold" | "retention">): void {
    const stored = this.#find(version);
    if (stored === undefined) throw new RangeError("there is no such version");
    Object.assign(stored, change);
  }

  /** Removes a version whatever protects it: somebody else's doing. */
  remove(version: VersionId): void {
    const left = (this.#keys.get(version.key) ?? []).filter(({ versionId }) => versionId !== version.versionId);
    this.#set(version.key, left);
  }

  /** All that is there, in the order of a listing. */
  all(): VersionEntry[] {
    return this.#sortedKeys().flatMap((key) => this.#entriesOf(key));
  }

  bucketState(signal: AbortSignal): Promise<BucketState> {
    const { versioning, mfaDelete, objectLock } = this;
    return this.#call({ verb: "bucketState" }, signal, () => ({ versioning, mfaDelete, objectLock }));
  }

  listVersions(request: ListRequest, signal: AbortSignal): Promise<VersionPage> {
    return this.#call({ verb: "listVersions", prefix: request.prefix }, signal, () => {
      const honest = this.#page(request);
      const page = this.faults.page?.(honest, request) ?? honest;
      checkPage(page, request);
      return page;
    });
  }

  head(version: VersionId, signal: AbortSignal): Promise<VersionHead> {
    return this.#call({ verb: "head", key: version.key }, signal, () => {
      const stored = this.#find(version);
      if (stored === undefined || stored.type === "DeleteMarker") return { exists: false };
      const { lastModified, tags, legalHold, retention } = stored;
      const isHidden = this.deniesLockRights;
      return {
        exists: true,
        // A header has whole seconds.
        lastModified: Math.floor(lastModified / 1_000) * 1_000,
        tagCount: this.deniesTags ? 0 : tags.length,
        legalHold: legalHold && !isHidden,
        ...(retention && !isHidden && { retention }),
      };
    });
  }

  hasMarker(marker: VersionId, signal: AbortSignal): Promise<boolean> {
    const draft = { verb: "hasMarker", key: marker.key } as const;
    return this.#call(draft, signal, () => this.#find(marker)?.type === "DeleteMarker");
  }

  tags(version: VersionId, signal: AbortSignal): Promise<readonly ObjectTag[]> {
    return this.#call({ verb: "tags", key: version.key }, signal, () => {
      if (this.deniesTags) throw refusal("AccessDenied", "reading tags was denied");
      return this.#find(version)?.tags ?? [];
    });
  }

  probeLockRights(version: VersionId, signal: AbortSignal): Promise<void> {
    return this.#call({ verb: "probeLockRights", key: version.key }, signal, () => {
      if (this.deniesLockRights) throw refusal("AccessDenied", "reading retention was denied");
    });
  }

  async *listKeys(prefix: string, signal: AbortSignal): AsyncGenerator<string> {
    const keys = await this.#call({ verb: "listKeys", prefix }, signal, () =>
      this.#sortedKeys().filter((key) => key.startsWith(prefix) && this.#keys.get(key)?.[0]?.type === "Version"),
    );
    yield* keys;
  }

  read(key: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
    return this.#call({ verb: "read", key }, signal, () => {
      const current = this.#keys.get(key)?.[0];
      if (current?.type !== "Version") throw refusal("NoSuchKey", "there is no such object");
      const body = Buffer.from(current.body);
      if (body.length > maxBytes) throw refusal("ManifestTooLarge", `the object has more than ${maxBytes} bytes`);
      return body;
    });
  }

  clockSkewMs(): number | undefined {
    return this.calls.length === 0 ? undefined : this.skewMs;
  }

  close(): void {}

  /** What deletes from it. */
  deleter(): VersionDeleter {
    const remove = (versions: readonly VersionId[], signal: AbortSignal) => {
      const draft = { verb: "delete", versions } as const;
      return this.#call(draft, signal, (call) => versions.map((version) => this.#delete(version, call)));
    };
    return {
      deleteBatch: (versions, signal) => {
        const lack = lackOf(versions);
        return lack === undefined ? remove(versions, signal) : Promise.reject(lack);
      },
      deleteOne: async (version, signal) => (await remove([version], signal))[0] ?? { type: "unaccounted" },
    };
  }

  async #call<T>(draft: Omit<StoreCall, "nth">, signal: AbortSignal, effect: (call: StoreCall) => T): Promise<T> {
    throwIfAborted(signal);
    const nth = (this.#counts.get(draft.verb) ?? 0) + 1;
    this.#counts.set(draft.verb, nth);
    const call = { ...draft, nth };
    this.calls.push(call);
    await orGivenUp(signal, this.faults.before?.(call));
    throwIfAborted(signal);
    const result = effect(call);
    await orGivenUp(signal, this.faults.after?.(call));
    return result;
  }

  #delete(version: VersionId, call: StoreCall): DeleteOutcome {
    // As the S3 store: neither is ever sent.
    if (["", "null"].includes(version.versionId)) return { type: "refused", code: "NoVersionId", retryable: false };
    const lie = this.faults.outcome?.(version, call);
    if (lie !== undefined && lie.type !== "deleted") return lie;
    const stored = this.#find(version);
    const isRetained = stored?.retention !== undefined && stored.retention.until > this.now();
    if (stored?.legalHold === true || isRetained) return { type: "refused", code: "AccessDenied", retryable: false };
    this.remove(version);
    return { type: "deleted" };
  }

  #write(key: string, draft: Omit<Stored, "versionId" | "lastModified">, at?: number): string {
    const lastModified = at ?? this.#lastAt + 1_000;
    this.#lastAt = Math.max(this.#lastAt, lastModified);
    this.#versions += 1;
    const isEnabled = this.versioning === "Enabled";
    const versionId = isEnabled ? `v${String(this.#versions).padStart(9, "0")}` : "null";
    const others = (this.#keys.get(key) ?? []).filter((other) => isEnabled || other.versionId !== "null");
    this.#set(key, [{ ...draft, versionId, lastModified }, ...others]);
    return versionId;
  }

  #set(key: string, versions: Stored[]): void {
    if (versions.length > 0 && this.#keys.has(key)) this.#keys.set(key, versions);
    else {
      if (versions.length > 0) this.#keys.set(key, versions);
      else this.#keys.delete(key);
      this.#sorted = undefined;
    }
  }

  #sortedKeys(): readonly string[] {
    this.#sorted ??= [...this.#keys.keys()].toSorted(compareKeys);
    return this.#sorted;
  }

  #entriesOf(key: string): VersionEntry[] {
    return (this.#keys.get(key) ?? []).map(({ versionId, type, lastModified, size }, index) => ({
      key,
      versionId,
      type,
      lastModified,
      size,
      isLatest: index === 0,
    }));
  }

  #find({ key, versionId }: VersionId): Stored | undefined {
    return this.#keys.get(key)?.find((stored) => stored.versionId === versionId);
  }

  #page({ prefix, maxEntries, after }: ListRequest): VersionPage {
    const entries: VersionEntry[] = [];
    for (const key of this.#sortedKeys()) {
      if (!key.startsWith(prefix) || (after !== undefined && compareKeys(key, after.key) < 0)) continue;
      entries.push(...(key === after?.key ? rest(this.#entriesOf(key), after) : this.#entriesOf(key)));
      if (entries.length > maxEntries) break;
    }
    const page = entries.slice(0, maxEntries);
    const last = page.at(-1);
    if (entries.length <= maxEntries || last === undefined) return { entries: page };
    return { entries: page, next: { key: last.key, versionId: last.versionId } };
  }
}

/** Of the key that a marker names; nothing when the marker's version is gone. */
function rest(entries: readonly VersionEntry[], { versionId }: PageMarker): readonly VersionEntry[] {
  const at = entries.findIndex((entry) => entry.versionId === versionId);
  return at < 0 ? [] : entries.slice(at + 1);
}

/** XML 1.0 has no such characters (https://www.w3.org/TR/xml/#charsets). */
// oxlint-disable-next-line no-control-regex -- those are meant
const NOT_IN_XML = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/;

/** Why a batch is refused as a whole; Ceph takes none with a key that XML cannot carry. */
function lackOf(versions: readonly VersionId[]): StoreError | undefined {
  if (versions.length === 0 || versions.length > MAX_BATCH) {
    return refusal("BatchTooLarge", `a batch has 1 to ${MAX_BATCH} versions, not ${versions.length}`);
  }
  const isOdd = versions.some(({ key }) => NOT_IN_XML.test(key));
  return isOdd ? refusal("RefusedByStore", "the batch is not XML") : undefined;
}

function refusal(code: StoreErrorReason, message: string): StoreError {
  return new StoreError(code, message, { retryable: false });
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw aborted();
}

/** Waits for what a test has to wait for, and no longer than the caller does. */
async function orGivenUp(signal: AbortSignal, waiting: void | Promise<void>): Promise<void> {
  if (waiting === undefined) return;
  let onAbort: (() => void) | undefined;
  const givenUp = new Promise<never>((_, reject) => {
    onAbort = () => reject(aborted());
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    await Promise.race([waiting, givenUp]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}

function aborted(): StoreError {
  return new StoreError("Aborted", "the call was given up", { retryable: true });
}
