import { describe, expect, it } from "vitest";
import { checkPage } from "./check-page.ts";
import type { ListRequest, PageMarker, VersionEntry, VersionPage } from "./port.ts";

function entry(key: string, versionId: string, isLatest = false): VersionEntry {
  return { key, versionId, type: "Version", isLatest, lastModified: 0, size: 0 };
}

function check(page: VersionPage, request: Partial<ListRequest> = {}): () => void {
  return () => checkPage(page, { prefix: "p/", maxEntries: 3, ...request });
}

const A = [entry("p/a", "3", true), entry("p/a", "2"), entry("p/a", "1")];
const AFTER_A3: PageMarker = { key: "p/a", versionId: "3" };

describe("checkPage", () => {
  it.each<[string, VersionPage, Partial<ListRequest>]>([
    ["is the only one", { entries: A }, {}],
    ["is empty, and the last", { entries: [] }, {}],
    ["goes on after its last entry", { entries: A, next: { key: "p/a", versionId: "1" } }, {}],
    ["has a version's name under another key", { entries: [entry("p/b", "3", true)] }, { after: AFTER_A3 }],
    ["goes on within a key", { entries: A.slice(1) }, { after: AFTER_A3 }],
    ["begins a key again, when it was to go on after the key's name alone", { entries: A }, { after: { key: "p/a" } }],
    [
      "has a latest entry on top where the one before it went meanwhile",
      { entries: [entry("p/a", "2", true)] },
      { after: AFTER_A3 },
    ],
    [
      "has keys in the order of their bytes",
      { entries: [entry("p/\uFFFD", "1", true), entry("p/\u{1F600}", "1", true)] },
      {},
    ],
  ])("lets a page pass that %s", (_, page, request) => {
    expect(check(page, request)).not.toThrow();
  });

  it.each<[string, VersionPage, Partial<ListRequest>]>([
    ["has more entries than were asked for", { entries: A }, { maxEntries: 2 }],
    ["has a key outside the prefix", { entries: [entry("p", "1", true)] }, {}],
    ["goes back within itself", { entries: [entry("p/b", "1", true), ...A.slice(0, 1)] }, {}],
    [
      "orders keys as JavaScript does",
      { entries: [entry("p/\u{1F600}", "1", true), entry("p/\uFFFD", "1", true)] },
      {},
    ],
    ["goes back before its marker", { entries: A }, { after: { key: "p/b", versionId: "1" } }],
    ["goes back before the key it was to go on after", { entries: A }, { after: { key: "p/b" } }],
    ["has a version twice", { entries: [entry("p/a", "1", true), entry("p/a", "1")] }, {}],
    ["begins a key again that the page before ended in", { entries: A }, { after: { key: "p/a", versionId: "2" } }],
    ["has its marker for an entry", { entries: [entry("p/a", "3")] }, { after: AFTER_A3 }],
    ["has a latest version below another", { entries: [entry("p/a", "2"), entry("p/a", "1", true)] }, {}],
    ["is empty, and not the last", { entries: [], next: { key: "p/a", versionId: "1" } }, {}],
    ["does not get on", { entries: A.slice(0, 1), next: AFTER_A3 }, { after: AFTER_A3 }],
    ["goes on at another key", { entries: A, next: { key: "p/b", versionId: "1" } }, {}],
    ["goes on at another version", { entries: A, next: { key: "p/a", versionId: "2" } }, {}],
  ])("does not let a page pass that %s", (_, page, request) => {
    expect(check(page, request)).toThrow(expect.objectContaining({ code: "InvalidListing", retryable: false }));
  });

  it("names no key", () => {
    expect(check({ entries: [entry("q/secret", "1")] })).toThrow(/^(?!.*secret).*prefix/);
  });
});
