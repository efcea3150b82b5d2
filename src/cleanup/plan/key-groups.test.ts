import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { VersionEntry } from "../store/port.ts";
import { KeyGroups } from "./key-groups.ts";
import { compareKeys } from "./key-order.ts";
import type { KeyGroup } from "./types.ts";

const key = fc.string({ unit: fc.constantFrom("a", "b", "/", "é", "\u{1F600}", "\uFFFD"), maxLength: 4 });
/** Numbers of versions by key, as a listing. */
const listing = fc
  .dictionary(key, fc.integer({ min: 1, max: 5 }), { maxKeys: 8 })
  .map((sizes) => Object.entries(sizes).toSorted(([a], [b]) => compareKeys(a, b)))
  .map((sizes) => sizes.flatMap(([name, size]) => Array.from({ length: size }, (_, index) => entryOf(name, index))));

function entryOf(name: string, index: number): VersionEntry {
  return { key: name, versionId: String(index), type: "Version", isLatest: index === 0, lastModified: 0, size: 0 };
}

function groupsOf(entries: readonly VersionEntry[], page: number, options = {}): KeyGroup[] {
  const groups = new KeyGroups(options);
  const found: KeyGroup[] = [];
  for (let from = 0; from < entries.length; from += page) {
    found.push(...groups.push({ entries: entries.slice(from, from + page) }));
  }
  return [...found, ...groups.finish()];
}

describe("KeyGroups", () => {
  it("gives the same groups however the listing is cut into pages, oldest first", () => {
    fc.assert(
      fc.property(listing, fc.integer({ min: 1, max: 7 }), (entries, page) => {
        const groups = groupsOf(entries, page);
        expect(groups).toEqual(groupsOf(entries, 1_000));
        expect(groups.flatMap((group) => group.entries.toReversed())).toEqual(entries);
        expect(new Set(groups.map((group) => group.key)).size).toBe(groups.length);
      }),
    );
  });

  it("holds a group back until the page after its last entry is there", () => {
    const groups = new KeyGroups();
    expect(groups.push({ entries: [entryOf("a", 0), entryOf("b", 0)] }).map((group) => group.key)).toEqual(["a"]);
    expect(groups.push({ entries: [entryOf("b", 1)] })).toEqual([]);
    expect(groups.finish().map(({ entries }) => entries.map(({ versionId }) => versionId))).toEqual([["1", "0"]]);
    expect(groups.finish()).toEqual([]);
  });

  it("leaves out keys up to the one it goes on after", () => {
    fc.assert(
      fc.property(listing, key, fc.integer({ min: 1, max: 7 }), (entries, after, page) => {
        const rest = groupsOf(entries, 1_000).filter((group) => compareKeys(group.key, after) > 0);
        expect(groupsOf(entries, page, { after })).toEqual(rest);
      }),
    );
  });

  it("does not hold the entries of a key of too many", () => {
    const entries = [...Array.from({ length: 6 }, (_, index) => entryOf("a", index)), entryOf("b", 0)];
    expect(groupsOf(entries, 2, { most: 5 })).toEqual([
      { key: "a", entries: [], tooLarge: 6 },
      { key: "b", entries: [entryOf("b", 0)] },
    ]);
    const [whole] = groupsOf(entries, 2, { most: 6 });
    expect(whole?.entries).toHaveLength(6);
    expect(whole).not.toHaveProperty("tooLarge");
  });
});

describe("compareKeys", () => {
  it("orders as the bytes of UTF-8 do", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
    expect(compareKeys("\uFFFD", "\u{1F600}")).toBeLessThan(0);
  });

  it("refuses a version that two pages list: what lies above it is not known", () => {
    const [newest, middle, oldest] = [0, 1, 2].map((index) => entryOf("a", index)) as [
      VersionEntry,
      VersionEntry,
      VersionEntry,
    ];
    const groups = new KeyGroups();
    groups.push({ entries: [newest, middle] });
    groups.push({ entries: [newest, oldest] });
    const invalid = expect.objectContaining({ code: "InvalidListing", retryable: true });
    expect(() => groups.push({ entries: [entryOf("b", 0)] })).toThrow(invalid);
    const last = new KeyGroups();
    last.push({ entries: [newest, middle] });
    last.push({ entries: [newest] });
    expect(() => last.finish()).toThrow(invalid);
  });
});
