import { compareKeys } from "../plan/key-order.ts";
import { type ListRequest, type PageMarker, StoreError, type VersionEntry, type VersionPage } from "./port.ts";

/**
 * Holds a page against what a listing promises: what is deleted is chosen by it, and a store that skips, repeats or goes astray must not choose.
 *
 * @throws {@link StoreError} `InvalidListing`, which says what is wrong and names no key
 */
export function checkPage({ entries, next }: VersionPage, request: ListRequest): void {
  const { prefix, maxEntries, after } = request;
  if (entries.length > maxEntries) throw invalid(`has ${entries.length} entries where ${maxEntries} were asked for`);
  let before: VersionEntry | undefined;
  let versions = new Set<string>();
  for (const entry of entries) {
    if (!entry.key.startsWith(prefix)) throw invalid("has a key outside the prefix");
    if (entry.key !== before?.key) versions = listedBefore(entry.key, after);
    if (versions.has(entry.versionId)) throw invalid("has a version twice");
    versions.add(entry.versionId);
    checkOrder(entry, before, after);
    before = entry;
  }
  if (next !== undefined) checkNext(next, before);
}

/** Of a page that goes on within a key: a store that overlooks the marker's version begins the key again, and every version of it would count twice. */
function listedBefore(key: string, after?: PageMarker): Set<string> {
  return new Set(key === after?.key && after.versionId !== undefined ? [after.versionId] : []);
}

function checkOrder({ key, isLatest }: VersionEntry, before: VersionEntry | undefined, after?: PageMarker): void {
  const order = compareKeys(key, before?.key ?? after?.key ?? "");
  if (order < 0) throw invalid("is not in the order of its keys");
  if (isLatest && before?.key === key) throw invalid("has a latest version below another one");
}

/** A next page begins after the last entry of this one; anywhere else it would skip or repeat some. */
function checkNext(next: PageMarker, last: VersionEntry | undefined): void {
  if (last === undefined) throw invalid("is empty, and not the last");
  if (next.key !== last.key || next.versionId !== last.versionId) throw invalid("does not go on where it ends");
}

function invalid(what: string): StoreError {
  return new StoreError("InvalidListing", `the store's listing ${what}: nothing can be chosen by it`, {
    retryable: false,
  });
}
