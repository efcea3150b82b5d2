import { expect, test } from "vitest";
import { runConditions } from "./cleanup-run-conditions.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const met = (phase: Parameters<typeof runConditions>[0]["phase"]) =>
  runConditions({ phase, reason: "Why", message: "because" }, { now: NOW, previous: undefined })
    .filter(({ status }) => status === "True")
    .map(({ type }) => type);

test("a run is in progress until it has ended, then complete or failed, and never both", () => {
  expect(met("Pending")).toEqual(["Reconciling"]);
  expect(met("Running")).toEqual(["Reconciling"]);
  expect(met("Succeeded")).toEqual(["Ready", "Complete"]);
  expect(met("CompletedWithSkips")).toEqual(["Ready", "Complete"]);
  for (const phase of ["Failed", "Rejected", "Cancelled"] as const) expect(met(phase)).toEqual(["Failed", "Stalled"]);
});

test("a condition keeps its time until its status flips", () => {
  const previous = runConditions(
    { phase: "Running", reason: "Running", message: "" },
    { now: NOW, previous: undefined },
  );
  const done = runConditions(
    { phase: "Succeeded", reason: "Done", message: "" },
    { now: NOW + 5_000, previous, generation: 3 },
  );
  const times = Object.fromEntries(done.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
  expect(times).toMatchObject({
    Complete: "2030-01-01T00:00:05Z",
    Reconciling: "2030-01-01T00:00:05Z",
    Failed: "2030-01-01T00:00:00Z",
  });
  expect(done.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
});

test("a message is cut, and said of what is true and of Ready only", () => {
  const conditions = runConditions(
    { phase: "Failed", reason: "ClockSkew", message: "x".repeat(600) },
    { now: NOW, previous: undefined },
  );
  const said = Object.fromEntries(conditions.map(({ type, reason, message }) => [type, `${reason} ${message.length}`]));
  expect(said).toEqual({
    Ready: "ClockSkew 512",
    Complete: "AsExpected 0",
    Failed: "ClockSkew 512",
    Reconciling: "AsExpected 0",
    Stalled: "ClockSkew 512",
  });
});
