import { expect, test } from "vitest";
import type { VersionEntry } from "../store/port.ts";
import { GroupWork } from "./group-work.ts";
import { OLD } from "./testing.ts";

const entry = (versionId: string, isLatest = false, type: VersionEntry["type"] = "Version"): VersionEntry => ({
  key: "k",
  versionId,
  type,
  isLatest,
  lastModified: OLD,
  size: 1,
});

function group(entries: readonly VersionEntry[]): GroupWork {
  const decision = { deletes: entries, stages: stagesOf(entries), absent: [], kept: [] };
  const plan = { group: { key: "k", entries }, expired: entries.length, candidates: entries, kept: [] };
  return new GroupWork({ plan, decision, known: new Map() });
}

/** The latest by itself. */
const stagesOf = (entries: readonly VersionEntry[]) => [entries.slice(0, -1), entries.slice(-1)];

const ids = (entries: readonly VersionEntry[]) => entries.map(({ versionId }) => versionId);

test("the latest is not ready while an older one is under way", () => {
  const [a, b, c] = [entry("a"), entry("b"), entry("c", true)];
  const work = group([a, b, c]);
  expect(ids(work.take(10))).toEqual(["a", "b"]);
  expect(work.ready).toEqual([]);
  work.gone(a);
  expect(work.ready).toEqual([]);
  work.gone(b);
  expect(ids(work.take(10))).toEqual(["c"]);
  expect(work.settled).toBe(false);
  work.gone(c);
  expect(work.settled).toBe(true);
});

test("what is sent again goes in its place, oldest first, and keeps the latest back", () => {
  const [a, b, c, d] = [entry("a"), entry("b"), entry("c"), entry("d", true)];
  const work = group([a, b, c, d]);
  work.take(2);
  work.again(b, true);
  work.again(a, false);
  expect(ids(work.ready)).toEqual(["a", "b", "c"]);
  expect([work.tries(a), work.tries(b)]).toEqual([0, 1]);
  for (const one of work.take(3)) work.gone(one);
  const [last = d] = work.take(1);
  work.again(last, true);
  expect(ids(work.ready)).toEqual(["d"]);
});

test("when one is refused newer ones stay, and older ones still go", () => {
  const [a, b, c, d] = [entry("a"), entry("b"), entry("c"), entry("d", true, "DeleteMarker")];
  const work = group([a, b, c, d]);
  work.take(3);
  work.refuse({ entry: b, reason: "LockedByStore" });
  work.again(a, true);
  work.again(c, true);
  expect(ids(work.ready)).toEqual(["a"]);
  work.take(1);
  work.gone(a);
  expect(work.settled).toBe(true);
  const { planned, unfinished, kept, left, expired } = work.summary();
  expect(ids(planned)).toEqual(["a", "b", "c", "d"]);
  expect(ids(unfinished)).toEqual(["b", "c", "d"]);
  expect(kept.map(({ entry: one, reason }) => [one.versionId, reason])).toEqual([
    ["d", "DeleteMarkerNeeded"],
    ["c", "ProtectedSibling"],
  ]);
  expect([left, expired]).toEqual([3, 3]);
});

test("what was refused, and what that held back, is not sent by a later decision, nor told twice", () => {
  const [a, b, c, d] = [entry("a"), entry("b"), entry("c"), entry("d", true)];
  const work = group([a, b, c, d]);
  work.take(3);
  work.again(a, true);
  work.refuse({ entry: b, reason: "DeniedByStore" });
  work.gone(c);
  const left = [a, b, d];
  work.decide({ deletes: left, stages: stagesOf(left), absent: [], kept: [] }, new Map());
  expect(ids(work.ready)).toEqual(["a"]);
  work.take(1);
  work.gone(a);
  expect(work.settled).toBe(true);
  const kept = [b, d].map((one) => ({ entry: one, reason: "ProtectedSibling" as const }));
  work.decide({ deletes: [], stages: [], absent: [], kept }, new Map());
  const summary = work.summary();
  expect(ids(summary.refused.map(({ entry: one }) => one))).toEqual(["b"]);
  expect(summary.kept.map(({ entry: one, reason }) => [one.versionId, reason])).toEqual([["d", "ProtectedSibling"]]);
});

test("each stage is ready by itself, once the one before is answered", () => {
  const [a, b, c, d] = [entry("a"), entry("b"), entry("c"), entry("d", true, "DeleteMarker")];
  const work = group([a, b, c, d]);
  work.decide({ deletes: [a, b, c, d], stages: [[a], [b], [c, d]], absent: [], kept: [] }, new Map());
  for (const stage of ["a", "b"]) {
    expect(work.take(0)).toEqual([]);
    expect(ids(work.ready)).toEqual([stage]);
    const [one = a] = work.take(10);
    expect(work.ready).toEqual([]);
    work.gone(one);
  }
  expect(ids(work.take(1))).toEqual(["c"]);
  expect(ids(work.ready)).toEqual(["d"]);
  work.gone(c);
  for (const one of work.take(10)) work.gone(one);
  expect(work.settled).toBe(true);
});
