import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { VersionEntry } from "../store/port.ts";
import { decideGroup } from "./decide-group.ts";
import { planGroup } from "./plan-group.ts";
import { CUTOFF, type Draft, FREE, groupOf, rules } from "./testing.ts";
import type { FactRules, GroupDecision, KeyGroup, VersionFacts } from "./types.ts";

const drafts = fc.array(
  fc.tuple(fc.constantFrom<Draft[0]>("v", "v", "v", "d"), fc.integer({ min: CUTOFF - 20, max: CUTOFF + 5 })),
  { minLength: 1, maxLength: 8 },
);
/** One of the entries may have been written before versioning was enabled. */
const group = fc
  .tuple(drafts, fc.option(fc.nat(7)))
  .map(([list, at]) => list.map(([kind, time], index): Draft => [index === at ? asNull(kind) : kind, time]))
  .map((list) => groupOf("p/k", ...list));
const facts = fc.array(
  fc.constantFrom<VersionFacts>(
    FREE,
    FREE,
    FREE,
    { exists: false },
    { ...FREE, legalHold: true },
    { ...FREE, retainUntil: 10 },
    { ...FREE, tags: [{ key: "keep", value: "1" }] },
  ),
  { minLength: 8, maxLength: 8 },
);
const factRules: FactRules = { now: 5, objectLock: true, legalHold: true, tags: [{ key: "keep" }] };

function asNull(kind: Draft[0]): Draft[0] {
  return kind === "v" ? "V" : "D";
}

function factsOf({ entries }: KeyGroup, list: readonly VersionFacts[]): Map<string, VersionFacts> {
  const versions = entries.flatMap(({ type, versionId }, index) =>
    type === "Version" ? [[versionId, index] as const] : [],
  );
  return new Map(versions.map(([versionId, index]) => [versionId, list[index] ?? FREE]));
}

function decided(of: KeyGroup, list: readonly VersionFacts[]): GroupDecision {
  return decideGroup(planGroup(of, rules), factsOf(of, list), factRules);
}

const byAge = (of: KeyGroup) => (a: VersionEntry, b: VersionEntry) => of.entries.indexOf(a) - of.entries.indexOf(b);

/** Position of what a GET of the key finds: -1 for nothing, also where a delete marker lies on top. */
function visible(entries: readonly VersionEntry[], of: KeyGroup): number {
  const top = entries.at(-1);
  return top === undefined || top.type === "DeleteMarker" ? -1 : of.entries.indexOf(top);
}

test("no deletion, in the order in which they are made, brings an older version back", () => {
  fc.assert(
    fc.property(group, facts, (of, list) => {
      const { stages, absent } = decided(of, list);
      let left = of.entries.filter((entry) => !absent.includes(entry));
      for (const entry of stages.flat()) {
        const before = visible(left, of);
        left = left.filter((other) => other !== entry);
        const after = visible(left, of);
        expect(after === -1 || after === before, "what is seen after it is what was seen before, or nothing").toBe(
          true,
        );
      }
    }),
    { numRuns: 2_000 },
  );
});

test("nor does one that fails, whatever somebody else takes away meanwhile of what does not go, and of delete markers", () => {
  const others = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(group, facts, fc.nat(7), others, (of, list, failing, taken) => {
      const { deletes, absent, stages } = decided(of, list);
      const isTaken = (entry: VersionEntry) =>
        taken[of.entries.indexOf(entry)] === true && (entry.type === "DeleteMarker" || !deletes.includes(entry));
      let left = of.entries.filter((entry) => !absent.includes(entry) && !isTaken(entry));
      const seen = visible(left, of);
      const fails = deletes[failing];
      for (const stage of stages) {
        left = left.filter((entry) => entry === fails || !stage.includes(entry));
        expect([-1, seen]).toContain(visible(left, of));
        if (fails !== undefined && stage.includes(fails)) break;
      }
    }),
    { numRuns: 2_000 },
  );
});

test("only what expired and nothing protects is deleted, each of a group is accounted for, and a second plan finds nothing", () => {
  fc.assert(
    fc.property(group, facts, (of, list) => {
      const { deletes, stages, absent, kept } = decided(of, list);
      const known = factsOf(of, list);
      for (const { lastModified, versionId, type } of deletes) {
        expect(lastModified).toBeLessThan(CUTOFF);
        expect(versionId).not.toBe("null");
        expect(type === "Version" ? known.get(versionId) : FREE).toBe(FREE);
      }
      const expired = of.entries.filter(({ lastModified }) => lastModified < CUTOFF);
      expect(stages.flat().toSorted(byAge(of))).toEqual(deletes);
      const accounted = [...deletes, ...absent, ...kept.map(({ entry }) => entry)];
      expect(new Set(accounted)).toEqual(new Set(expired));
      expect(accounted).toHaveLength(expired.length);
      const left = of.entries.filter((entry) => !deletes.includes(entry) && !absent.includes(entry));
      const again = decideGroup(planGroup({ key: of.key, entries: left }, rules), known, factRules);
      expect(again.deletes).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
});
