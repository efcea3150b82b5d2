import { expect, test } from "vitest";
import type { VersionEntry } from "../port.ts";
import { entryKinds, inOrder } from "./entry-order.ts";

const entry =
  (type: VersionEntry["type"]) =>
  (key: string, versionId: string, lastModified: number, isLatest = false) =>
    ({ type, key, versionId, lastModified, isLatest, size: 0 }) satisfies VersionEntry;
const version = entry("Version");
const marker = entry("DeleteMarker");
const ids = (entries: readonly VersionEntry[]) => entries.map(({ key, versionId }) => key + versionId).join(" ");

test("kinds are read from the elements of a listing, whatever its keys say", () => {
  const xml =
    "<R><Version><Key>&lt;Version&gt;</Key></Version><DeleteMarker x='1'><VersionId>1</VersionId></DeleteMarker></R>";
  expect(entryKinds(xml)).toEqual(["Version", "DeleteMarker"]);
});

test("entries of one second keep the order of the XML", () => {
  const versions = [version("a", "1", 5), version("a", "2", 5)];
  const markers = [marker("a", "3", 5, true), marker("a", "4", 5)];
  const kinds = ["DeleteMarker", "Version", "DeleteMarker", "Version"] as const;
  expect(ids(inOrder(versions, markers, kinds))).toBe("a3 a1 a4 a2");
});

test("lists that stand one after the other are merged by key, time and what is the latest", () => {
  const versions = [
    version("a", "1", 9, true),
    version("a", "2", 3),
    version("b", "3", 4),
    version("\u{1F600}", "4", 1),
  ];
  const markers = [marker("a", "5", 3), marker("b", "6", 4, true), marker("\uFFFD", "7", 1)];
  const kinds = [...versions, ...markers].map(({ type }) => type);
  expect(ids(inOrder(versions, markers, kinds))).toBe("a1 a2 a5 b6 b3 \uFFFD7 \u{1F600}4");
  expect(ids(inOrder(versions, markers, []))).toBe("a1 a2 a5 b6 b3 \uFFFD7 \u{1F600}4");
});

test("an upload in parts, which bears the time at which it began, stays where the XML has it", () => {
  // Begun before the marker and the version below were made, and finished after them.
  const versions = [version("a", "4", 1, true), version("a", "2", 5), version("a", "1", 0), version("b", "6", 1, true)];
  const markers = [marker("a", "3", 7), marker("b", "5", 9)];
  const kinds = ["Version", "DeleteMarker", "Version", "Version", "Version", "DeleteMarker"] as const;
  expect(ids(inOrder(versions, markers, kinds))).toBe("a4 a3 a2 a1 b6 b5");
  // By time the marker would be above the latest version.
  expect(ids(inOrder(versions.slice(0, 1), markers.slice(0, 1), ["Version", "DeleteMarker"]))).toBe("a4 a3");
});

test("lists that stand one after the other within one key are merged by time", () => {
  const versions = [version("a", "4", 9, true), version("a", "2", 5), version("a", "1", 1)];
  const markers = [marker("a", "3", 7)];
  expect(ids(inOrder(versions, markers, ["Version", "Version", "Version", "DeleteMarker"]))).toBe("a4 a3 a2 a1");
});
