import {
  GetBucketVersioningCommand,
  GetObjectCommand,
  GetObjectLegalHoldCommand,
  GetObjectLockConfigurationCommand,
  GetObjectRetentionCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  ListObjectVersionsCommand,
} from "@aws-sdk/client-s3";
import { compareKeys } from "../../plan/key-order.ts";
import { checkPage } from "../check-page.ts";
import {
  type BucketState,
  type ListRequest,
  type ObjectStore,
  type ObjectTag,
  StoreError,
  type VersionHead,
  type VersionId,
  type VersionPage,
} from "../port.ts";
import type { Caller } from "./caller.ts";
import type { DirectReads } from "./direct-reads.ts";
import { entryKinds, withXml } from "./entry-order.ts";
import { codeOfAnswer, isMarkerAnswer, statusOf } from "./errors.ts";
import { readAtMost } from "./read-body.ts";
import { invalidListing, plainKey, versionPage } from "./version-page.ts";

/** Answers of a bucket without locks; the other is of a store that does not know them at all. */
const NO_LOCKS: ReadonlySet<string> = new Set(["ObjectLockConfigurationNotFoundError", "NotImplemented"]);
/** Answers of a version without one: of AWS, and of AWS in a bucket without locks. */
const NO_LOCK: ReadonlySet<string> = new Set([...NO_LOCKS, "NoSuchObjectLockConfiguration", "InvalidRequest"]);
const ABSENT: ReadonlySet<string> = new Set(["NoSuchKey", "NoSuchVersion", "NotFound", "MethodNotAllowed"]);

const withoutLocks = (error: unknown) => (NO_LOCKS.has(codeOfAnswer(error) ?? "") ? false : undefined);
const withoutLock = (error: unknown) => (NO_LOCK.has(codeOfAnswer(error) ?? "") ? true : undefined);
const withoutTags = (error: unknown) => (ABSENT.has(codeOfAnswer(error) ?? "") ? [] : undefined);
/** HEAD has no body, so that nothing tells a missing bucket from a missing version. A delete marker has no facts. */
const isAbsent = (error: unknown) =>
  statusOf(error) === 404 || isMarkerAnswer(error) ? ({ exists: false } as const) : undefined;

/** `false`: it does not say; others may stand for 404 or 405. */
const saysMarker = (error: unknown) =>
  isMarkerAnswer(error) || ([404, 405].includes(statusOf(error) ?? 0) ? false : undefined);

/** Reads of a bucket by the S3 API. */
export class S3Reader implements ObjectStore {
  readonly #caller: Caller;
  readonly #direct: DirectReads;
  readonly #skewMs: () => number | undefined;
  /** The store says of delete markers that are there that they are not, as Ceph 16 does: they are looked for in the listing. */
  #hidesMarkers = false;

  /** @param skewMs what {@link clockSkewMs} answers */
  constructor(caller: Caller, direct: DirectReads, skewMs: () => number | undefined) {
    this.#caller = caller;
    this.#direct = direct;
    this.#skewMs = skewMs;
  }

  async bucketState(signal: AbortSignal): Promise<BucketState> {
    const [{ versioning, mfaDelete }, objectLock] = await Promise.all([
      this.#versioning(signal),
      this.#hasLock(signal),
    ]);
    return { versioning, mfaDelete, objectLock };
  }

  async listVersions(request: ListRequest, signal: AbortSignal): Promise<VersionPage> {
    const { after } = request;
    // A marker without a version begins at its key or behind it, by the store: what is left of the key is dropped here.
    const floor = after !== undefined && after.versionId === undefined ? after.key : undefined;
    let page = await this.#page(request, signal);
    if (floor === undefined) return page;
    for (;;) {
      const entries = page.entries.filter(({ key }) => compareKeys(key, floor) > 0);
      if (entries.length > 0 || page.next === undefined) return { ...page, entries };
      page = await this.#page({ ...request, after: page.next }, signal);
    }
  }

  async head({ key, versionId }: VersionId, signal: AbortSignal): Promise<VersionHead> {
    const { client, bucket } = this.#caller;
    const bySdk = () =>
      client.send(new HeadObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId }), { abortSignal: signal });
    const call = async () =>
      headOf((await this.#direct.head({ key, versionId }, signal)) ?? (await bySdk()), versionId);
    return this.#caller.ask<VersionHead>("HeadObject", signal, call, isAbsent);
  }

  async hasMarker(marker: VersionId, signal: AbortSignal): Promise<boolean> {
    if (!this.#hidesMarkers && (await this.#headOfMarker(marker, signal))) return true;
    const isListed = await this.#listsMarker(marker, signal);
    this.#hidesMarkers ||= isListed;
    return isListed;
  }

  async tags({ key, versionId }: VersionId, signal: AbortSignal): Promise<readonly ObjectTag[]> {
    const { client, bucket } = this.#caller;
    const call = async () => {
      const direct = await this.#direct.tags({ key, versionId }, signal);
      if (direct !== undefined) return direct;
      const command = new GetObjectTaggingCommand({ Bucket: bucket, Key: key, VersionId: versionId });
      const { TagSet = [] } = await client.send(command, { abortSignal: signal });
      return TagSet.map(({ Key = "", Value = "" }) => ({ key: Key, value: Value }));
    };
    return this.#caller.ask<readonly ObjectTag[]>("GetObjectTagging", signal, call, withoutTags);
  }

  async probeLockRights({ key, versionId }: VersionId, signal: AbortSignal): Promise<void> {
    const { client, bucket } = this.#caller;
    const version = { Bucket: bucket, Key: key, VersionId: versionId };
    const retention = async () => {
      await client.send(new GetObjectRetentionCommand(version), { abortSignal: signal });
      return true;
    };
    const hold = async () => {
      await client.send(new GetObjectLegalHoldCommand(version), { abortSignal: signal });
      return true;
    };
    await this.#caller.ask("GetObjectRetention", signal, retention, withoutLock);
    await this.#caller.ask("GetObjectLegalHold", signal, hold, withoutLock);
  }

  async *listKeys(prefix: string, signal: AbortSignal): AsyncGenerator<string> {
    const { client, bucket } = this.#caller;
    let after: { readonly ContinuationToken?: string; readonly StartAfter?: string | undefined } = {};
    let last: string | undefined;
    for (;;) {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, EncodingType: "url", ...after });
      const page = await this.#caller.ask("ListObjectsV2", signal, () => client.send(command, { abortSignal: signal }));
      const keys = keysOf(page, prefix, last);
      yield* keys;
      last = keys.at(-1) ?? last;
      if (page.IsTruncated === undefined) throw invalidListing("does not say whether it is the last page");
      // As with versions, it has ended where nothing more comes.
      if (!page.IsTruncated && keys.length === 0) return;
      after = page.IsTruncated ? tokenOf(page, after.ContinuationToken) : { StartAfter: last };
    }
  }

  async read(key: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
    const { client, bucket } = this.#caller;
    const command = new GetObjectCommand({ Bucket: bucket, Key: key });
    const call = async () => {
      const { Body } = await client.send(command, { abortSignal: signal });
      return readAtMost(Body, maxBytes);
    };
    return this.#caller.ask("GetObject", signal, call);
  }

  clockSkewMs(): number | undefined {
    return this.#skewMs();
  }

  close(): void {
    this.#caller.client.destroy();
  }

  /** @returns `false` also where the store does not say */
  #headOfMarker({ key, versionId }: VersionId, signal: AbortSignal): Promise<boolean> {
    const { client, bucket } = this.#caller;
    const command = new HeadObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId });
    const call = () => client.send(command, { abortSignal: signal }).then(() => false);
    return this.#caller.ask<boolean>("HeadObject", signal, call, saysMarker);
  }

  /** The key itself comes first of all that begin with it. */
  async #listsMarker({ key, versionId }: VersionId, signal: AbortSignal): Promise<boolean> {
    let page: VersionPage = { entries: [] };
    do {
      const { next } = page;
      page = await this.#page({ prefix: key, maxEntries: 1_000, ...(next && { after: next }) }, signal);
      const ofKey = page.entries.filter((entry) => entry.key === key);
      if (ofKey.some((entry) => entry.versionId === versionId && entry.type === "DeleteMarker")) return true;
      if (ofKey.length < page.entries.length) return false;
    } while (page.next !== undefined);
    return false;
  }

  async #page(request: ListRequest, signal: AbortSignal): Promise<VersionPage> {
    const { client, bucket } = this.#caller;
    const { prefix, maxEntries, after } = request;
    let xml = "";
    const command = new ListObjectVersionsCommand({
      Bucket: bucket,
      Prefix: prefix,
      MaxKeys: maxEntries,
      EncodingType: "url",
      KeyMarker: after?.key,
      VersionIdMarker: after?.versionId,
    });
    const call = () =>
      client.send(
        withXml(command, (text) => (xml = text)),
        { abortSignal: signal },
      );
    const answer = await this.#caller.ask("ListObjectVersions", signal, call);
    const page = versionPage(answer, entryKinds(xml));
    checkPage(page, request);
    return page;
  }

  async #versioning(signal: AbortSignal): Promise<Pick<BucketState, "versioning" | "mfaDelete">> {
    const { client, bucket } = this.#caller;
    const command = new GetBucketVersioningCommand({ Bucket: bucket });
    const call = () => client.send(command, { abortSignal: signal });
    const { Status, MFADelete } = await this.#caller.ask("GetBucketVersioning", signal, call);
    // Anything but these two is taken for a bucket without versions, which no run touches.
    const versioning = Status === "Enabled" || Status === "Suspended" ? Status : "Unversioned";
    return { versioning, mfaDelete: MFADelete === "Enabled" };
  }

  async #hasLock(signal: AbortSignal): Promise<boolean> {
    const { client, bucket } = this.#caller;
    const command = new GetObjectLockConfigurationCommand({ Bucket: bucket });
    const call = async () => {
      const { ObjectLockConfiguration } = await client.send(command, { abortSignal: signal });
      return ObjectLockConfiguration?.ObjectLockEnabled === "Enabled";
    };
    return this.#caller.ask("GetObjectLockConfiguration", signal, call, withoutLocks);
  }
}

/** @throws {@link StoreError} `InvalidListing`, also for keys that are not behind the last one: they would come for ever */
function keysOf({ Contents = [], EncodingType }: ListObjectsV2CommandOutput, prefix: string, last = ""): string[] {
  let before = last;
  return Contents.map(({ Key = "" }) => {
    const key = EncodingType === "url" ? plainKey(Key) : Key;
    if (!key.startsWith(prefix)) throw invalidListing("has a key outside the prefix");
    if (compareKeys(key, before) <= 0) throw invalidListing("is not in the order of its keys");
    return (before = key);
  });
}

function tokenOf({ NextContinuationToken: next }: ListObjectsV2CommandOutput, before: string | undefined) {
  if (!next || next === before) throw invalidListing("is truncated and does not get on");
  return { ContinuationToken: next };
}

function headOf(answer: Partial<HeadObjectCommandOutput>, versionId: string): VersionHead {
  const { LastModified, TagCount: tagCount = 0, ObjectLockLegalHoldStatus, VersionId: named } = answer;
  // What is known of another version says nothing of this one; and who names none may not have looked for it. That of `null` some stores leave out.
  if (named !== versionId && (named !== undefined || versionId !== "null"))
    throw new StoreError(
      "InvalidAnswer",
      "the store's answer to HeadObject is about another version, or does not say about which",
      {
        retryable: true,
      },
    );
  const lastModified = timeOf(LastModified, "Last-Modified");
  const head = { exists: true, lastModified, tagCount, legalHold: ObjectLockLegalHoldStatus === "ON" } as const;
  const { ObjectLockMode, ObjectLockRetainUntilDate } = answer;
  if (ObjectLockMode === undefined && ObjectLockRetainUntilDate === undefined) return head;
  // Half a lock is one that cannot be read: it does not count as none.
  const until = timeOf(ObjectLockRetainUntilDate, "end of its retention");
  return { ...head, retention: { mode: ObjectLockMode === "GOVERNANCE" ? "Governance" : "Compliance", until } };
}

function timeOf(date: Date | undefined, name: string): number {
  const time = date?.getTime() ?? Number.NaN;
  if (Number.isFinite(time)) return time;
  throw new StoreError("InvalidAnswer", `the store's answer to HeadObject has no ${name}`, { retryable: true });
}
