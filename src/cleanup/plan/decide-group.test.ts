import { describe, expect, it } from "vitest";
import { decideGroup } from "./decide-group.ts";
import { planGroup } from "./plan-group.ts";
import { CUTOFF, type Draft, FREE, groupOf, rules } from "./testing.ts";
import type { FactRules, VersionFacts } from "./types.ts";

const NOW = 5_000;
const ALL: FactRules = {
  now: NOW,
  objectLock: true,
  legalHold: true,
  tags: [{ key: "dispute" }, { key: "keep", value: "yes" }],
};

function decide(drafts: readonly Draft[], facts: Record<string, VersionFacts> = {}, factRules: FactRules = ALL) {
  const plan = planGroup(groupOf("p/k", ...drafts), rules);
  const asked = plan.candidates.filter(({ type }) => type === "Version");
  const all = new Map(asked.map(({ versionId }) => [versionId, facts[versionId] ?? FREE]));
  const { deletes, stages, absent, kept } = decideGroup(plan, all, factRules);
  return {
    deletes: deletes.map(({ versionId }) => versionId),
    stages: stages.map((stage) => stage.map(({ versionId }) => versionId).join(" ")),
    absent: absent.map(({ versionId }) => versionId),
    kept: kept.map(({ entry, reason }) => `${entry.versionId} ${reason}`),
  };
}

const held: VersionFacts = { ...FREE, legalHold: true };
const retained: VersionFacts = { ...FREE, retainUntil: NOW + 1 };
const tagged = (key: string, value: string): VersionFacts => ({ ...FREE, tags: [{ key, value }] });
const gone: VersionFacts = { exists: false };

describe("decideGroup", () => {
  it.each([
    ["LegalHold", held],
    ["Retention", retained],
    ["ProtectedTag", tagged("dispute", "any")],
    ["ProtectedTag", tagged("keep", "yes")],
  ])("keeps a version with %s, and newer ones, which would else bring it back", (reason, facts) => {
    expect(
      decide(
        [
          ["v", 1],
          ["v", 2],
          ["v", 3],
        ],
        { v1: facts },
      ),
    ).toEqual({
      deletes: ["v0"],
      stages: ["v0"],
      absent: [],
      kept: [`v1 ${reason}`, "v2 ProtectedSibling"],
    });
  });

  it("deletes what nothing protects any more, and what is not asked about", () => {
    const lenient = { ...ALL, objectLock: false, legalHold: false, tags: [] };
    expect(decide([["v", 1]], { v0: { ...FREE, retainUntil: NOW } }).deletes).toEqual(["v0"]);
    expect(decide([["v", 1]], { v0: tagged("keep", "no") }).deletes).toEqual(["v0"]);
    expect(decide([["v", 1]], { v0: held }, lenient).deletes).toEqual(["v0"]);
    expect(decide([["v", 1]], { v0: retained }, lenient).deletes).toEqual(["v0"]);
  });

  it("parts the newest that goes from the older ones, and delete markers from all versions", () => {
    expect(
      decide([
        ["v", 1],
        ["v", 2],
      ]),
    ).toMatchObject({ deletes: ["v0", "v1"], stages: ["v0", "v1"] });
    expect(
      decide([
        ["v", 1],
        ["d", 2],
      ]),
    ).toMatchObject({ deletes: ["v0", "d1"], stages: ["v0", "d1"] });
    expect(
      decide([
        ["v", 1],
        ["v", 2],
        ["v", CUTOFF],
      ]),
    ).toMatchObject({ deletes: ["v0", "v1"], stages: ["v0", "v1"] });
    expect(
      decide([
        ["v", 1],
        ["d", 2],
        ["v", 3],
        ["v", 4],
        ["d", 5],
        ["d", 6],
      ]),
    ).toMatchObject({ deletes: ["v0", "d1", "v2", "v3", "d4", "d5"], stages: ["v0 v2", "v3", "d1 d4 d5"] });
    expect(decide([["d", 1]]).stages).toEqual(["d0"]);
  });

  it("keeps every delete marker of a key of which a version stays", () => {
    expect(
      decide(
        [
          ["d", 1],
          ["v", 2],
          ["d", 3],
        ],
        { v1: held },
      ),
    ).toMatchObject({
      deletes: [],
      stages: [],
      kept: ["v1 LegalHold", "d0 DeleteMarkerNeeded", "d2 DeleteMarkerNeeded"],
    });
  });

  it("counts as absent what is gone already; that holds nothing back", () => {
    expect(
      decide(
        [
          ["v", 1],
          ["v", 2],
          ["d", 3],
        ],
        { v0: gone },
      ),
    ).toMatchObject({
      deletes: ["v1", "d2"],
      stages: ["v1", "d2"],
      absent: ["v0"],
      kept: [],
    });
  });

  it("takes for the newest what is, when the one of the listing is gone already", () => {
    const drafts: readonly Draft[] = [
      ["v", 1],
      ["v", 2],
      ["v", 3],
    ];
    expect(decide(drafts, { v2: gone })).toMatchObject({ stages: ["v0", "v1"], absent: ["v2"] });
    expect(decide(drafts, { v1: gone, v2: gone })).toMatchObject({ deletes: ["v0"], stages: ["v0"] });
  });

  it("decides nothing about a version that the store was not asked about", () => {
    const plan = planGroup(groupOf("p/k", ["v", 1]), rules);
    expect(() => decideGroup(plan, new Map(), ALL)).toThrow(RangeError);
  });
});
