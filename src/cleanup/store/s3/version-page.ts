import type { DeleteMarkerEntry, ListObjectVersionsCommandOutput, ObjectVersion } from "@aws-sdk/client-s3";
import { StoreError, type VersionEntry, type VersionPage } from "../port.ts";
import { inOrder } from "./entry-order.ts";

/**
 * A page of the port, of an answer.
 *
 * @param kinds kinds of its entries, in the order of its XML
 * @throws {@link StoreError} `InvalidListing`
 */
export function versionPage(
  answer: ListObjectVersionsCommandOutput,
  kinds: readonly VersionEntry["type"][],
): VersionPage {
  const isEncoded = answer.EncodingType === "url";
  const entry = (type: VersionEntry["type"]) => (from: ObjectVersion | DeleteMarkerEntry) =>
    entryOf(type, from, isEncoded);
  const versions = (answer.Versions ?? []).map(entry("Version"));
  const markers = (answer.DeleteMarkers ?? []).map(entry("DeleteMarker"));
  const entries = inOrder(versions, markers, kinds);
  if (answer.IsTruncated === undefined) throw invalidListing("does not say whether it is the last page");
  if (answer.IsTruncated) return { entries, next: nextOf(answer, entries.at(-1)) };
  const last = entries.at(-1);
  // It has ended where nothing more comes: a page that was cut without a word would end within a key, and what is not seen of it is not protected.
  return last === undefined ? { entries } : { entries, next: { key: last.key, versionId: last.versionId } };
}

/**
 * A page goes on after its last entry, by that entry's own names. What the store says of it must be the same: Ceph encodes keys but not their marker, others
 * both, some send no version. Anything else would skip or repeat entries.
 */
function nextOf(
  answer: ListObjectVersionsCommandOutput,
  last: VersionEntry | undefined,
): NonNullable<VersionPage["next"]> {
  const { NextKeyMarker: key, NextVersionIdMarker: versionId } = answer;
  if (key === undefined || key === "") throw invalidListing("is truncated and has no marker");
  if (last === undefined) throw invalidListing("is empty, and not the last");
  const isSame = key === last.key || decoded(key) === last.key;
  const isSameVersion = versionId === undefined || versionId === "" || versionId === last.versionId;
  if (!isSame || !isSameVersion) throw invalidListing("does not go on where it ends");
  return { key: last.key, versionId: last.versionId };
}

function entryOf(
  type: VersionEntry["type"],
  from: ObjectVersion & DeleteMarkerEntry,
  isEncoded: boolean,
): VersionEntry {
  const { Key: key, VersionId: versionId, IsLatest: isLatest, LastModified: modified, Size: size = 0 } = from;
  const lastModified = modified?.getTime() ?? Number.NaN;
  if (key === undefined || key === "" || !versionId || isLatest === undefined || !Number.isFinite(lastModified))
    throw invalidListing("has an entry without key, version, time or place");
  return { type, key: isEncoded ? plainKey(key) : key, versionId, isLatest, lastModified, size };
}

/** A key as it is, of one encoded by `EncodingType: url`: S3 writes a space as `+`, Ceph as `%20`. @throws {@link StoreError} `InvalidListing` */
export function plainKey(encoded: string): string {
  const key = decoded(encoded);
  if (key === undefined) throw invalidListing("has a key that is not encoded as it says");
  return key;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** @param what goes on after "the store's listing" */
export function invalidListing(what: string): StoreError {
  const message = `the store's listing ${what}: nothing can be chosen by it`;
  return new StoreError("InvalidListing", message, { retryable: false });
}
