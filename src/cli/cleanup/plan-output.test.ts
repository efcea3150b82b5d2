import { expect, test } from "vitest";
import { resolveCleanupPolicySpec } from "../../api/cleanup-policy-defaults.ts";
import { snapshotOf } from "../../api/cleanup-snapshot.ts";
import type { PlannedScope } from "../../cleanup/run/plan-scope.ts";
import type { VersionEntry } from "../../cleanup/store/port.ts";
import { PlanOutput, type PlanView } from "./plan-output.ts";

const spec = resolveCleanupPolicySpec({ s3: { bucket: "lake" }, prefixTemplate: "warehouses/{scope}/" });
const SUBJECT = {
  policy: "shop/labels",
  scope: "a",
  cutoff: Date.UTC(2026, 0, 1),
  snapshot: snapshotOf(spec, { scope: "a", mode: "DryRun", generation: 0 }),
};

function setup(view: Partial<PlanView> = {}, terminal = { stdout: false, stderr: false }) {
  const written = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => ({
    write: (text: string) => (written[name] += text),
    isTTY: terminal[name],
  });
  const io = { stdout: stream("stdout"), stderr: stream("stderr") };
  return { written, output: new PlanOutput(io, { format: "table", limit: 2, ...view }, SUBJECT) };
}

const entry = (index: number): VersionEntry => ({
  type: "Version",
  key: `warehouses/a/k${index}`,
  versionId: `v${index}`,
  isLatest: false,
  lastModified: Date.UTC(2025, 0, 1),
  size: 7,
});
const planned = (number: number): PlannedScope => ({
  type: "planned",
  counters: { listed: 10, expired: 5, planned: number, plannedBytes: 7 * number, kept: 2 },
  reasons: { LegalHold: 2 },
  samples: [],
  planDigest: "d".repeat(64),
});

test("a table has counts, reasons, the digest and as many versions as were asked for", () => {
  const { written, output } = setup();
  output.planned([entry(1)]);
  output.planned([entry(2), entry(3)]);
  expect(output.end(planned(3))).toBe(0);
  const { stdout } = written;
  expect(stdout).toContain(
    "shop/labels, scope a: versions under warehouses/a/ last modified before 2026-01-01T00:00:00.000Z",
  );
  expect(stdout).toMatch(/LegalHold +2/);
  expect(stdout).toContain(`plan digest  ${"d".repeat(64)}`);
  expect(stdout).toContain('"warehouses/a/k2"');
  expect(stdout).not.toContain("k3");
  expect(stdout).toContain("and 1 more: -o ndjson lists all");
  expect(written.stderr).toBe("");
});

test("no version is shown when none was asked for, only how many there are", () => {
  const { written, output } = setup({ limit: 0 });
  output.planned([entry(1)]);
  output.end(planned(1));
  expect(written.stdout).not.toContain("KEY");
  expect(written.stdout).toContain("and 1 more: -o ndjson lists all");
});

test("a terminal has a bar, of what was counted first, and nothing is left of it", () => {
  const { written, output } = setup({}, { stdout: true, stderr: true });
  expect(output.hasBar).toBe(true);
  output.progress({ listed: 1_000 }, "Survey");
  output.progress({ listed: 2_000 }, "Survey");
  expect(written.stderr).toContain("\rcounting: 2000 versions\u001b[K");
  written.stderr = "";
  output.progress({ listed: 500, planned: 30 }, "Inspect");
  expect(written.stderr).toBe(`\r[${"#".repeat(7)}${".".repeat(23)}] 30 planned: 500 of 2000 (25 %)\u001b[K`);
  output.end(planned(0));
  expect(written.stderr.endsWith("\r\u001b[K")).toBe(true);
});

test("lines of a list and a bar never share a terminal", () => {
  expect(setup({ format: "ndjson" }, { stdout: true, stderr: true }).output.hasBar).toBe(false);
  expect(setup({ format: "ndjson" }, { stdout: false, stderr: true }).output.hasBar).toBe(true);
});

test("without a terminal a plan that is quick says nothing about its progress", () => {
  const { written, output } = setup();
  output.progress({ listed: 500 }, "Inspect");
  expect(output.hasBar).toBe(false);
  expect(written.stderr).toBe("");
});

test("every planned version is a line of ndjson, and the summary is the last", () => {
  const { written, output } = setup({ format: "ndjson" });
  output.planned([entry(1), entry(2), entry(3)]);
  output.end(planned(3));
  const lines = written.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  const lastModified = "2025-01-01T00:00:00.000Z";
  expect(lines[0]).toEqual({ key: "warehouses/a/k1", versionId: "v1", type: "Version", lastModified, size: 7 });
  expect(lines).toHaveLength(4);
  expect(lines[3]).toMatchObject({ policy: "shop/labels", planDigest: "d".repeat(64), counters: { planned: 3 } });
});

test("why there is no plan is told with its reason and what helps", () => {
  const { written, output } = setup();
  const failure = {
    type: "failed",
    reason: "BucketNotFound",
    message: "there is no such bucket",
    retryable: false,
  } as const;
  expect(output.end(failure)).toBe(1);
  expect(written).toEqual({
    stdout: "",
    stderr:
      "BucketNotFound: there is no such bucket\ncorrect spec.s3.bucket, or spec.s3.endpoint and spec.s3.region, which say where it is\n",
  });
  const again = setup();
  again.output.end({ type: "failed", reason: "ClockSkew", message: "set the clocks", retryable: true });
  expect(again.written.stderr).toBe("ClockSkew: set the clocks (trying again may help)\n");
});

test("what an Enforce run would be refused for is told after the plan, and so is an end before its own", () => {
  const { written, output } = setup();
  expect(output.end({ ...planned(3), tooManyDeletes: "3 deletes are over safety.maxDeletesPerRun, 1" })).toBe(1);
  expect(written.stdout).toContain("plan digest");
  expect(written.stderr).toBe("TooManyDeletes: 3 deletes are over safety.maxDeletesPerRun, 1\n");
  const stopped = setup();
  expect(stopped.output.stopped()).toBe(1);
  expect(stopped.written).toEqual({ stdout: "", stderr: "stopped before the end: there is no plan\n" });
});
