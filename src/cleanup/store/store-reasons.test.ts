import { describe, expect, it } from "vitest";
import { STORE_REASONS } from "../../api/store-reasons.ts";
import { failureOf } from "../run/failure.ts";
import { checkBucket, checkClock, MAX_SKEW_MS } from "../run/preflight.ts";
import type { BucketState } from "./port.ts";

const FINE: BucketState = { versioning: "Enabled", mfaDelete: false, objectLock: false };

function reasonOf(check: () => void): string {
  try {
    check();
  } catch (error) {
    return failureOf(error).code;
  }
  return "";
}

describe("what makes a bucket unfit", () => {
  it.each<[string, () => void, string]>([
    ["no versioning", () => checkBucket({ ...FINE, versioning: "Unversioned" }), "VersioningNotEnabled"],
    ["versioning that is suspended", () => checkBucket({ ...FINE, versioning: "Suspended" }), "VersioningSuspended"],
    ["a second factor for deletes", () => checkBucket({ ...FINE, mfaDelete: true }), "MFADeleteEnabled"],
    ["another time", () => checkClock(-MAX_SKEW_MS - 1), "ClockSkew"],
  ])("%s, is told by a word that the policy's condition knows", (_name, check, reason) => {
    expect(reasonOf(check)).toBe(reason);
    expect(STORE_REASONS).toContain(reason);
  });
});
