import { randomBytes } from "node:crypto";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  type ObjectLockRetentionMode,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectRetentionCommand,
  PutObjectTaggingCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import type { CleanupSnapshot } from "../../../src/api/generated/cleanup-run.ts";
import type { BucketOptions, BucketOwner, PutOptions } from "../../../src/cleanup/conformance/fixtures.ts";
import type { ObjectTag, VersionEntry, VersionId } from "../../../src/cleanup/store/port.ts";
import type { ObjectStoreLocation } from "./location.ts";

export const REGION = "us-east-1";

type Lock = NonNullable<PutOptions["retention"]>;

/** A bucket of a test, as its owner sees it: by a client of its own, with verbs that cleanup has not. */
export class TestBucket implements BucketOwner {
  readonly name: string;
  readonly location: ObjectStoreLocation;
  readonly client: S3Client;

  constructor(name: string, location: ObjectStoreLocation) {
    this.name = name;
    this.location = location;
    const { endpoint, accessKeyId, secretAccessKey } = location;
    const credentials = { accessKeyId, secretAccessKey };
    this.client = new S3Client({ endpoint, region: REGION, forcePathStyle: true, credentials });
  }

  /** What a policy says of it. */
  get s3(): CleanupSnapshot["s3"] {
    const { endpoint } = this.location;
    return { endpoint, region: REGION, bucket: this.name, forcePathStyle: true, checksum: "Auto" };
  }

  async put(key: string, options: PutOptions = {}): Promise<string> {
    const { body = "", tags = [], legalHold = false, retention } = options;
    const command = new PutObjectCommand({
      Bucket: this.name,
      Key: key,
      Body: Buffer.from(body),
      ContentLength: Buffer.byteLength(body),
      ...(tags.length > 0 && { Tagging: tagging(tags) }),
      ...(legalHold && { ObjectLockLegalHoldStatus: "ON" }),
      ...(retention && { ObjectLockMode: modeOf(retention), ObjectLockRetainUntilDate: new Date(retention.until) }),
    });
    return (await this.client.send(command)).VersionId ?? "null";
  }

  /** Writes many, `width` at a time. @returns their versions, in the order of the keys */
  async putAll(keys: readonly string[], width = 16): Promise<VersionId[]> {
    const versions: VersionId[] = [];
    const queue = keys.entries();
    const write = async () => {
      // oxlint-disable-next-line no-await-in-loop -- each of the writers is one at a time
      for (const [index, key] of queue) versions[index] = { key, versionId: await this.put(key) };
    };
    await Promise.all(Array.from({ length: width }, write));
    return versions;
  }

  async mark(key: string): Promise<string> {
    return (await this.client.send(new DeleteObjectCommand({ Bucket: this.name, Key: key }))).VersionId ?? "null";
  }

  /** Deletes a version: somebody else's doing. */
  async remove({ key, versionId }: VersionId): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: this.name, Key: key, VersionId: versionId }));
  }

  /** Sets a legal hold. */
  async hold(version: VersionId): Promise<void> {
    await this.#hold(version, "ON");
  }

  async release(version: VersionId): Promise<void> {
    await this.#hold(version, "OFF");
  }

  async retain({ key, versionId }: VersionId, lock: Lock): Promise<void> {
    const Retention = { Mode: modeOf(lock), RetainUntilDate: new Date(lock.until) };
    const version = { Bucket: this.name, Key: key, VersionId: versionId };
    await this.client.send(new PutObjectRetentionCommand({ ...version, Retention }));
  }

  /** Replaces the tags of a version. */
  async tag({ key, versionId }: VersionId, tags: readonly ObjectTag[]): Promise<void> {
    const TagSet = tags.map((tag) => ({ Key: tag.key, Value: tag.value }));
    const version = { Bucket: this.name, Key: key, VersionId: versionId };
    await this.client.send(new PutObjectTaggingCommand({ ...version, Tagging: { TagSet } }));
  }

  async suspendVersioning(): Promise<void> {
    await this.setVersioning("Suspended");
  }

  async enableVersioning(): Promise<void> {
    await this.setVersioning("Enabled");
  }

  async setVersioning(status: "Enabled" | "Suspended"): Promise<void> {
    const VersioningConfiguration = { Status: status };
    await this.client.send(new PutBucketVersioningCommand({ Bucket: this.name, VersioningConfiguration }));
  }

  async all(): Promise<VersionEntry[]> {
    const entries: VersionEntry[] = [];
    let marker: { KeyMarker?: string; VersionIdMarker?: string } = {};
    for (;;) {
      const command = new ListObjectVersionsCommand({ Bucket: this.name, EncodingType: "url", ...marker });
      // oxlint-disable-next-line no-await-in-loop -- a page names the next one
      const page = await this.client.send(command);
      const versions = (page.Versions ?? []).map((item) => ({ ...item, type: "Version" as const }));
      const markers = (page.DeleteMarkers ?? []).map((item) => ({ ...item, Size: 0, type: "DeleteMarker" as const }));
      for (const { type, Key = "", VersionId = "", IsLatest = false, LastModified, Size = 0 } of [
        ...versions,
        ...markers,
      ]) {
        const lastModified = LastModified?.getTime() ?? Number.NaN;
        const key = decodeURIComponent(Key);
        entries.push({ type, key, versionId: VersionId, isLatest: IsLatest, lastModified, size: Size });
      }
      entries.sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)) || b.lastModified - a.lastModified);
      const last = entries.at(-1);
      if (page.IsTruncated !== true || last === undefined) return entries;
      marker = { KeyMarker: last.key, VersionIdMarker: page.NextVersionIdMarker ?? "" };
    }
  }

  async #hold({ key, versionId }: VersionId, status: "ON" | "OFF"): Promise<void> {
    const version = { Bucket: this.name, Key: key, VersionId: versionId };
    await this.client.send(new PutObjectLegalHoldCommand({ ...version, LegalHold: { Status: status } }));
  }
}

/** As a query, in the header of a PUT. */
const tagging = (tags: readonly ObjectTag[]) =>
  tags.map(({ key, value }) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join("&");

const modeOf = ({ mode }: Lock): ObjectLockRetentionMode => (mode === "Governance" ? "GOVERNANCE" : "COMPLIANCE");

/** Makes a bucket with a name of its own; versioning is enabled unless told otherwise. Nothing removes it: the store ends with the run. */
export async function makeBucket(location: ObjectStoreLocation, options: BucketOptions = {}): Promise<TestBucket> {
  const bucket = new TestBucket(`test-${randomBytes(6).toString("hex")}`, location);
  const lock = { ObjectLockEnabledForBucket: options.objectLock ?? false };
  await bucket.client.send(new CreateBucketCommand({ Bucket: bucket.name, ...lock }));
  if (options.objectLock !== true && options.unversioned !== true) await bucket.setVersioning("Enabled");
  return bucket;
}
