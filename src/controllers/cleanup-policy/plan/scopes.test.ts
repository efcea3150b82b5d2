import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { isMerged, MAX_SCOPES, mergeScopes, scopesOf } from "./scopes.ts";
import { admitted, DAY, HOUR, NOON, runOf, snapshotOf } from "./testing.ts";
import { instant, rfc3339, type RunView } from "./views.ts";

const enforced = (id: string, cutoff: number, at = NOON) =>
  runOf(id, { cutoff: rfc3339(cutoff) }, admitted("Enforce", "Succeeded", at));
const merged = (...runs: readonly RunView[]) => [...mergeScopes(new Map(), runs).values()];

describe("what is known of a scope", () => {
  test("is the highest cutoff that an Enforce run completed, with or without skips, and its id", () => {
    const skipped = runOf("b", { cutoff: rfc3339(NOON - 5 * DAY) }, admitted("Enforce", "CompletedWithSkips"));
    expect(merged(enforced("a", NOON - 6 * DAY), skipped, enforced("c", NOON - 7 * DAY))).toEqual([
      {
        name: "a",
        lastCutoff: rfc3339(NOON - 5 * DAY),
        lastRunId: "b",
        verifiedDigest: "d1",
        verifiedAt: rfc3339(NOON),
      },
    ]);
  });

  test("is the last proof by a dry run or an Enforce run, which says nothing of cutoffs when it deleted nothing", () => {
    const older = runOf("a", {}, admitted("DryRun", "Succeeded", NOON - DAY));
    const newer = runOf("b", {}, { ...admitted("DryRun", "Succeeded"), snapshot: snapshotOf("DryRun", "d2") });
    for (const order of [
      [older, newer],
      [newer, older],
    ]) {
      expect(merged(...order)).toEqual([{ name: "a", verifiedDigest: "d2", verifiedAt: rfc3339(NOON) }]);
    }
  });

  test.each(["Pending", "Running", "Failed", "Rejected", "Cancelled"] as const)("is not a run that is %s", (phase) => {
    expect(merged(runOf("a", {}, admitted("Enforce", phase)))).toEqual([]);
  });

  test("is not a run that only kept a record", () => {
    expect(merged(runOf("a", {}, admitted("RecordOnly", "Succeeded")))).toEqual([]);
  });

  test("of two cutoffs that are written differently is the later instant", () => {
    const east = runOf("a", { cutoff: "2029-12-20T02:00:00+03:00" }, admitted("Enforce", "Succeeded"));
    const west = runOf("b", { cutoff: "2029-12-19T22:00:00-02:00" }, admitted("Enforce", "Succeeded"));
    expect(merged(east, west)).toMatchObject([{ lastCutoff: "2029-12-20T00:00:00Z", lastRunId: "b" }]);
  });

  test("only ever grows, whatever runs come in whatever order and however often", () => {
    const cutoffs = array(
      record({
        scope: constantFrom("a", "b", "c"),
        age: integer({ min: 1, max: 50 }),
        end: integer({ min: 0, max: 50 }),
        mode: constantFrom("DryRun" as const, "Enforce" as const),
      }),
      { maxLength: 12 },
    );
    assert(
      property(cutoffs, integer({ min: 0, max: 12 }), (specs, cut) => {
        const runs = specs.map(({ scope, age, end, mode }, n) =>
          runOf(`r${n}`, { scope, cutoff: rfc3339(NOON - age * DAY) }, admitted(mode, "Succeeded", NOON + end * HOUR)),
        );
        const before = mergeScopes(new Map(), runs.slice(0, cut));
        const after = mergeScopes(before, runs.slice(cut));
        for (const [name, scope] of before) {
          const next = after.get(name);
          for (const field of ["lastCutoff", "verifiedAt"] as const) {
            expect(instant(next?.[field]) ?? 0).toBeGreaterThanOrEqual(instant(scope[field]) ?? 0);
          }
        }
        expect(mergeScopes(after, runs)).toEqual(after);
        for (const run of runs) expect(isMerged(after, run)).toBe(true);
      }),
    );
  });
});

test("a scope that there is no room for is left out, and its run is not merged, while known ones go on", () => {
  const scopes = Array.from({ length: MAX_SCOPES }, (_, n) => ({ name: `s${n}` }));
  const full = scopesOf({ scopes });
  const [lost, fine] = [enforced("lost", NOON - DAY), { ...enforced("fine", NOON - DAY) }];
  const known = { ...fine, spec: { ...fine.spec, scope: "s3" } };
  const after = mergeScopes(full, [lost, known]);
  expect(after.size).toBe(MAX_SCOPES);
  expect([isMerged(after, lost), isMerged(after, known), isMerged(full, known)]).toEqual([false, true, false]);
});
