import { describe, expect, it, test } from "vitest";
import { planGroup } from "./plan-group.ts";
import { CUTOFF, type Draft, groupOf, rules } from "./testing.ts";

const OLD = CUTOFF - 1;

/** Ids of the candidates, and of what is kept with its reason. */
function plan(drafts: readonly Draft[], more: Partial<typeof rules> = {}) {
  const { candidates, kept, expired } = planGroup(groupOf("p/k", ...drafts), { ...rules, ...more });
  return {
    goes: candidates.map(({ versionId }) => versionId),
    kept: kept.map(({ entry, reason }) => `${entry.versionId} ${reason}`),
    expired,
  };
}

describe("planGroup", () => {
  test.each<[string, readonly Draft[], readonly string[], readonly string[]]>([
    ["a version before the cutoff", [["v", OLD]], ["v0"], []],
    ["a version at the cutoff", [["v", CUTOFF]], [], []],
    ["a version after it", [["v", CUTOFF + 1]], [], []],
    [
      "old versions under a new one",
      [
        ["v", 1],
        ["v", 2],
        ["v", CUTOFF],
      ],
      ["v0", "v1"],
      [],
    ],
    [
      "all of a key",
      [
        ["v", 1],
        ["v", 2],
      ],
      ["v0", "v1"],
      [],
    ],
    ["a null version", [["V", 1]], [], ["null NullVersion"]],
    [
      "a version over a null one, which would come back",
      [
        ["V", 1],
        ["v", 2],
      ],
      [],
      ["null NullVersion", "v1 ProtectedSibling"],
    ],
    [
      "a version over one that is newer by the clock",
      [
        ["v", CUTOFF],
        ["v", 2],
      ],
      [],
      ["v1 ProtectedSibling"],
    ],
    ["a sole delete marker", [["d", 1]], ["d0"], []],
    ["a sole delete marker that is new", [["d", CUTOFF]], [], []],
    [
      "a delete marker with all it hides",
      [
        ["v", 1],
        ["d", 2],
      ],
      ["v0", "d1"],
      [],
    ],
    [
      "what a new delete marker hides",
      [
        ["v", 1],
        ["d", CUTOFF],
      ],
      ["v0"],
      [],
    ],
    [
      "a delete marker over what stays",
      [
        ["V", 1],
        ["d", 2],
      ],
      [],
      ["null NullVersion", "d1 DeleteMarkerNeeded"],
    ],
    [
      "a delete marker between versions",
      [
        ["v", 1],
        ["d", 2],
        ["v", CUTOFF],
      ],
      ["v0"],
      ["d1 DeleteMarkerNeeded"],
    ],
    [
      "a version over a delete marker that stays",
      [
        ["d", 1],
        ["v", 2],
        ["v", CUTOFF],
      ],
      ["v1"],
      ["d0 DeleteMarkerNeeded"],
    ],
    [
      "a null delete marker",
      [
        ["v", 1],
        ["D", 2],
      ],
      ["v0"],
      ["null NullVersion"],
    ],
    [
      "several delete markers with everything",
      [
        ["d", 1],
        ["v", 2],
        ["d", 3],
      ],
      ["d0", "v1", "d2"],
      [],
    ],
  ])("%s", (_, drafts, goes, kept) => {
    expect(plan(drafts)).toMatchObject({ goes, kept });
  });

  it("counts what has expired, kept or not", () => {
    expect(
      plan([
        ["V", 1],
        ["v", 2],
        ["v", CUTOFF],
      ]).expired,
    ).toBe(2);
  });

  it("keeps keys that begin as a protected prefix says, or that a manifest names", () => {
    expect(plan([["v", 1]], { protectedPrefixes: ["p/k"] })).toMatchObject({ goes: [], kept: ["v0 ProtectedPrefix"] });
    expect(plan([["v", 1]], { protectedPrefixes: ["p/other"] }).goes).toEqual(["v0"]);
    expect(
      plan(
        [
          ["v", 1],
          ["d", CUTOFF],
        ],
        { isReferenced: (key) => key === "p/k" },
      ).kept,
    ).toEqual(["v0 InManifest"]);
  });

  it("keeps a key whose entries are too many to be held", () => {
    const large = { key: "p/k", entries: [], tooLarge: 10_001 };
    expect(planGroup(large, rules)).toMatchObject({ expired: 10_001, candidates: [], kept: [] });
  });

  it("plans nothing outside the prefix", () => {
    expect(() => planGroup(groupOf("pq/k", ["v", 1]), rules)).toThrow(RangeError);
  });
});

describe("a cutoff between two seconds", () => {
  test.each<[number, number, boolean]>([
    // A store with whole seconds may mean 4,900 by 4,000.
    [4_000, 4_500, false],
    [4_000, 4_999, false],
    [4_000, 5_000, true],
    [3_000, 4_500, true],
    [4_499, 4_500, true],
    [4_500, 4_500, false],
    [4_001, 5_000, true],
    [5_000, 5_000, false],
  ])("of what was last modified at %i, with the cutoff %i, may go: %s", (lastModified, cutoff, goes) => {
    expect(plan([["v", lastModified]], { cutoff }).goes).toEqual(goes ? ["v0"] : []);
  });
});
