import { describe, expect, test } from "vitest";
import { decideIds, idConflictText, type IdClaimant } from "./destination-ids.ts";

const claimant = (name: string, id: string, createdAt = 1): IdClaimant => ({ name, id, createdAt });

describe("decideIds", () => {
  test("the incumbent keeps an id, whatever the ages", () => {
    const claimants = [claimant("old", "A-17", 1), claimant("new", "A-17", 2), claimant("other", "A-18", 3)];
    const { holders, conflicts } = decideIds(claimants, new Map([["~A-17", "new"]]));
    expect(holders).toEqual(
      new Map([
        ["~A-17", "new"],
        ["~A-18", "other"],
      ]),
    );
    expect(conflicts).toEqual([{ claimant: claimants[0], holder: "new" }]);
    expect(conflicts.map(idConflictText)).toEqual([
      'the id "A-17" belongs to WebhookDestination new: choose another id, or delete that one',
    ]);
  });

  test("without an incumbent the oldest gets it, then the first by name", () => {
    const holderOf = (...claimants: IdClaimant[]) => decideIds(claimants, new Map([["~x", "gone"]])).holders.get("~x");
    expect(holderOf(claimant("a", "x", 2), claimant("b", "x", 1))).toBe("b");
    expect(holderOf(claimant("b", "x"), claimant("a", "x"))).toBe("a");
  });

  test("an incumbent that goes lets the next one have it", () => {
    const { holders, conflicts } = decideIds([claimant("b", "x", 9)], new Map([["~x", "a"]]));
    expect([holders.get("~x"), conflicts]).toEqual(["b", []]);
  });
});
