import { describe, expect, test } from "vitest";
import type { CleanupPolicySpec } from "../../../api/generated/cleanup-policy.ts";
import { acceptedPolicy } from "./acceptance.ts";
import type { AcceptedPolicy } from "./accepted-policy.ts";
import { DAY, HOUR, NOON, POLICY } from "./testing.ts";

const look = (spec: Partial<CleanupPolicySpec> = {}) =>
  acceptedPolicy({ ...POLICY, generation: 7, spec: { ...POLICY.spec, ...spec } });

function accepted(spec: Partial<CleanupPolicySpec> = {}): AcceptedPolicy {
  const acceptance = look(spec);
  if ("refusal" in acceptance) throw new Error(acceptance.refusal.message);
  return acceptance;
}

describe("a policy", () => {
  test("comes to its defaults, in the units of the plan", () => {
    expect(accepted()).toMatchObject({
      minAgeMs: DAY,
      requireDryRun: true,
      history: { successful: 20, failed: 50, minAgeMs: 14 * DAY },
      s3: { region: "us-east-1", bucket: "lake", forcePathStyle: false, checksum: "Auto" },
      schedule: undefined,
      warnings: [],
    });
  });

  test("is written into a run with its generation, the scope's prefix and the least of all modes", () => {
    const policy = accepted({ defaultMode: "Enforce", scopes: [{ name: "b", mode: "DryRun" }] });
    expect(policy.snapshot("b", "DryRun")).toMatchObject({
      generation: 7,
      prefix: "warehouses/b/",
      digest: policy.digest,
    });
    const modes = [policy.modeOf("a", undefined), policy.modeOf("a", "DryRun"), policy.modeOf("b", "Enforce")];
    expect(modes).toEqual(["Enforce", "DryRun", "DryRun"]);
  });

  test("has the times of its schedule in its zone", () => {
    const schedule = "30 14 * * *";
    const scopes = [{ name: "a" }];
    const policy = accepted({ schedule, timeZone: "Europe/Warsaw", expireAfter: "720h", scopes });
    expect(policy.schedule).toMatchObject({ expireAfterMs: 30 * DAY, startingDeadlineMs: HOUR });
    expect(policy.schedule?.ticks.next(NOON)).toBe(NOON + 1.5 * HOUR);
  });

  test("is refused with what is wrong with it, and accepted with what is to be considered", () => {
    const wrong = look({ schedule: "0 0 31 2 *", expireAfter: "720h", scopes: [{ name: "a" }] });
    expect(wrong).toMatchObject({ refusal: { reason: "InvalidSpec" } });
    expect("refusal" in wrong && wrong.refusal.message).toContain("spec.schedule");
    const odd = accepted({ s3: { bucket: "lake", endpoint: "http://store.example.com" } });
    expect(odd.warnings?.join()).toContain("spec.s3.endpoint");
  });

  test("is looked at once, as long as its spec is the same object", () => {
    expect(acceptedPolicy(POLICY)).toBe(acceptedPolicy({ ...POLICY, status: {} }));
  });
});
