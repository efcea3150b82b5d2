import type { ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { compareKeys } from "../../plan/key-order.ts";
import type { VersionEntry } from "../port.ts";
import { allOf } from "./answer-root.ts";

type Kind = VersionEntry["type"];

/** Text of XML has no `<`, so that these are elements, whatever the keys are. */
const ENTRY = /<(Version|DeleteMarker)[\s>]/g;

/** Kinds of the entries of a listing, in the order of its XML. */
export function entryKinds(xml: string): Kind[] {
  return Array.from(xml.matchAll(ENTRY), ([, kind]) => kind as Kind);
}

/**
 * Puts the two lists of an answer together. S3 lists versions and delete markers interleaved; the SDK makes two lists of them, and which of two entries of a
 * key is newer can then not be told by their times: both may be of one second, and an upload in parts bears the time at which it began. So their order is taken
 * from the XML (`kinds`). A store that writes one list after the other has no such order: keys and times decide, and of equal ones the latest comes first, then
 * the versions.
 */
export function inOrder(
  versions: readonly VersionEntry[],
  markers: readonly VersionEntry[],
  kinds: readonly Kind[],
): VersionEntry[] {
  const woven = weave(versions, markers, kinds);
  if (woven === undefined || !isInOrder(woven)) return merge(versions, markers);
  if (!isOneAfterTheOther(kinds) || isSorted(woven)) return woven;
  const merged = merge(versions, markers);
  return isInOrder(merged) ? merged : woven;
}

/** All versions, then all markers, or the other way: also of a few entries that lie so by chance. */
function isOneAfterTheOther(kinds: readonly Kind[]): boolean {
  return kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length <= 1;
}

/** By keys, and by what is the latest. */
function isInOrder(entries: readonly VersionEntry[]): boolean {
  return entries.every((entry, index) => {
    const before = entries[index - 1];
    if (before === undefined) return true;
    const order = compareKeys(before.key, entry.key);
    return order < 0 || (order === 0 && !entry.isLatest);
  });
}

function weave(
  versions: readonly VersionEntry[],
  markers: readonly VersionEntry[],
  kinds: readonly Kind[],
): VersionEntry[] | undefined {
  if (kinds.length !== versions.length + markers.length) return undefined;
  const left = { Version: versions.values(), DeleteMarker: markers.values() };
  const woven = kinds.map((kind) => left[kind].next().value);
  return woven.every((entry) => entry !== undefined) ? woven : undefined;
}

function isSorted(entries: readonly VersionEntry[]): boolean {
  return entries.every((entry, index) => {
    const before = entries[index - 1];
    return before === undefined || byKeyAndAge(before, entry) <= 0;
  });
}

function merge(versions: readonly VersionEntry[], markers: readonly VersionEntry[]): VersionEntry[] {
  const merged: VersionEntry[] = [];
  let [v, m] = [0, 0];
  for (;;) {
    const [version, marker] = [versions[v], markers[m]];
    if (version === undefined) return [...merged, ...markers.slice(m)];
    if (marker === undefined) return [...merged, ...versions.slice(v)];
    const order = byKeyAndAge(version, marker) || Number(marker.isLatest) - Number(version.isLatest);
    if (order <= 0) [v] = [v + 1, merged.push(version)];
    else [m] = [m + 1, merged.push(marker)];
  }
}

function byKeyAndAge(a: VersionEntry, b: VersionEntry): number {
  return compareKeys(a.key, b.key) || b.lastModified - a.lastModified;
}

/** Has the body of the answer read on its way to the SDK. */
export function withXml(command: ListObjectVersionsCommand, onXml: (xml: string) => void): ListObjectVersionsCommand {
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as { statusCode?: number; body: AsyncIterable<Uint8Array> | Uint8Array };
      if (response.statusCode !== 200) return result;
      const body = await allOf(response.body);
      response.body = body;
      onXml(body.toString("utf8"));
      return result;
    },
    { step: "deserialize", priority: "low", name: "davitXml" },
  );
  return command;
}
