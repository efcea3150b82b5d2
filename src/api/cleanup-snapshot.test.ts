import { describe, expect, it } from "vitest";
import { attemptsWithin, backoffMs } from "./cleanup-attempts.ts";
import { resolveCleanupPolicySpec } from "./cleanup-policy-defaults.ts";
import { modeOf, policyDigest, snapshotOf } from "./cleanup-snapshot.ts";
import type { CleanupPolicySpec } from "./generated/cleanup-policy.ts";

const written: CleanupPolicySpec = {
  s3: { bucket: "b", credentialsSecretRef: { name: "s3" } },
  prefixTemplate: "w/{scope}/",
  scopes: [{ name: "live", mode: "Enforce" }, { name: "new" }],
  defaultMode: "DryRun",
  exclusions: { manifests: [{ prefix: "m/{scope}/", keysFrom: "lines" }] },
};
const spec = resolveCleanupPolicySpec(written);

describe("modeOf", () => {
  it.each([
    ["live", undefined, "Enforce"],
    ["live", "DryRun", "DryRun"],
    ["live", "RecordOnly", "RecordOnly"],
    ["new", "Enforce", "DryRun"],
    ["unknown", undefined, "DryRun"],
    ["unknown", "Enforce", "DryRun"],
  ] as const)("of %s, asked for %s, is %s", (scope, requested, mode) => {
    expect(modeOf(spec, scope, requested)).toBe(mode);
  });
});

describe("policyDigest", () => {
  const digestOf = (change: Partial<CleanupPolicySpec>) =>
    policyDigest(resolveCleanupPolicySpec({ ...written, ...change }));

  it("changes with all that decides what is deleted", () => {
    const digests = [
      {},
      { s3: { bucket: "c" } },
      { s3: { bucket: "b", endpoint: "https://s" } },
      { prefixTemplate: "x/{scope}/" },
      { exclusions: {} },
      { exclusions: { ...written.exclusions, tags: [{ key: "a" }] } },
      { exclusions: { ...written.exclusions, tags: [{ key: "a", value: "" }] } },
      { exclusions: { ...written.exclusions, legalHold: false } },
      { exclusions: { ...written.exclusions, objectLock: false } },
      { exclusions: { ...written.exclusions, protectedPrefixes: ["w/live/a"] } },
    ].map(digestOf);
    expect(new Set(digests).size).toBe(digests.length);
  });

  it("stays when only the pace, the mode or the way to the store changes", () => {
    const same = [
      { batchSize: 1 },
      { defaultMode: "Enforce" as const },
      { suspend: true },
      { s3: { bucket: "b", region: "eu-west-1" } },
      { exclusions: { ...written.exclusions, maxAge: "5s" } },
    ].map(digestOf);
    expect(new Set(same)).toEqual(new Set([digestOf({})]));
  });
});

describe("snapshotOf", () => {
  it("holds what a run goes by, of its scope, and no credentials", () => {
    const snapshot = snapshotOf(spec, { scope: "live", mode: "Enforce", generation: 3 });
    expect(snapshot).toMatchObject({
      generation: 3,
      digest: policyDigest(spec),
      prefix: "w/live/",
      mode: "Enforce",
      exclusions: { manifests: [{ prefix: "m/live/", keysFrom: "lines" }] },
      safety: { maxDeletesPerRun: 100_000, maxDeletePercent: 50 },
    });
    expect(JSON.stringify(snapshot)).not.toContain("credentials");
  });

  it("protects prefixes that are named by the scope, each once", () => {
    const protectedPrefixes = ["w/{scope}/keep/", "w/live/keep/", "w/{scope}"];
    const { exclusions } = snapshotOf(resolveCleanupPolicySpec({ ...written, exclusions: { protectedPrefixes } }), {
      scope: "live",
      mode: "Enforce",
      generation: 1,
    });
    expect(exclusions.protectedPrefixes).toEqual(["w/live/keep/", "w/live"]);
  });
});

describe("attemptsWithin", () => {
  it("is what fits a deadline with the pauses between", () => {
    expect(attemptsWithin(0)).toBe(1);
    for (const deadline of [60_000, 3_600_000, 86_400_000]) {
      const attempts = attemptsWithin(deadline);
      const pauses = Array.from({ length: attempts - 1 }, (_, index) => backoffMs(index + 1));
      const waited = pauses.reduce((sum, pause) => sum + pause, 0);
      expect(waited).toBeLessThanOrEqual(deadline);
      expect(waited + backoffMs(attempts)).toBeGreaterThan(deadline);
    }
    expect(attemptsWithin(720 * 3_600_000)).toBe(1_000);
  });
});
