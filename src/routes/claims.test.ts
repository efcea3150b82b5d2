import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLAIM_HOLD_MS, type Claim, type Claimant, resolveClaims } from "./claims.ts";

function claimant(namespace: string, name: string, createdAt: number, path = "/a"): Claimant {
  return { namespace, name, host: "hooks.example.com", path, createdAt };
}

function names(list: readonly { readonly namespace: string; readonly name: string }[]): string[] {
  return list.map(({ namespace, name }) => `${namespace}/${name}`);
}

describe("resolveClaims", () => {
  test("gives a place nobody holds to the oldest, then by namespace and name", () => {
    const decision = resolveClaims([claimant("b", "x", 2), claimant("a", "z", 1), claimant("a", "y", 1)], [], 0);
    expect(names(decision.winners)).toEqual(["a/y"]);
    expect(decision.conflicts.map(({ claimant: loser, holder }) => [names([loser]), names([holder])])).toEqual([
      [["a/z"], ["a/y"]],
      [["b/x"], ["a/y"]],
    ]);
  });

  test("leaves a place with its incumbent, however old the others are", () => {
    const young = claimant("b", "x", 9);
    const decision = resolveClaims([claimant("a", "y", 1), young], [{ ...young }], 100);
    expect(names(decision.winners)).toEqual(["b/x"]);
  });

  test("tells paths and hosts apart", () => {
    const decision = resolveClaims([claimant("a", "x", 1), claimant("b", "y", 2, "/b")], [], 0);
    expect(decision.conflicts).toEqual([]);
    expect(decision.winners).toHaveLength(2);
  });

  test("lets the own namespace follow at once when the incumbent lets go", () => {
    const gone: Claim = claimant("a", "gone", 0);
    const decision = resolveClaims([claimant("b", "old", 1), claimant("a", "next", 9)], [gone], 100);
    expect(names(decision.winners)).toEqual(["a/next"]);
  });

  test("lets another namespace follow only after the hold", () => {
    const gone: Claim = claimant("a", "gone", 0);
    const other = claimant("b", "other", 1);
    const held = resolveClaims([other], [gone], 100);
    expect(held.winners).toEqual([]);
    expect(held.conflicts).toMatchObject([{ holder: { name: "gone" }, heldUntil: 100 + CLAIM_HOLD_MS }]);
    const later = resolveClaims([other], held.claims, 100 + CLAIM_HOLD_MS - 1);
    expect(later.winners).toEqual([]);
    expect(names(resolveClaims([other], later.claims, 100 + CLAIM_HOLD_MS).winners)).toEqual(["b/other"]);
  });

  test("gives the place back to the incumbent that returns within the hold", () => {
    const first = claimant("a", "x", 5);
    const left = resolveClaims([claimant("b", "y", 1)], [{ ...first }], 100);
    const back = resolveClaims([claimant("b", "y", 1), first], left.claims, 200);
    expect(names(back.winners)).toEqual(["a/x"]);
    expect(back.claims[0]?.releasedAt).toBeUndefined();
  });

  test("forgets a claim that nobody wants after the hold", () => {
    const gone: Claim = { ...claimant("a", "x", 0), releasedAt: 0 };
    expect(resolveClaims([], [gone], CLAIM_HOLD_MS - 1).claims).toHaveLength(1);
    expect(resolveClaims([], [gone], CLAIM_HOLD_MS).claims).toEqual([]);
  });
});

describe("claims, whatever the order of events", () => {
  const route = fc.record({
    namespace: fc.constantFrom("a", "b", "c"),
    name: fc.constantFrom("x", "y"),
    host: fc.constantFrom("one.example.com", "two.example.com"),
    path: fc.constantFrom("/a", "/b"),
    createdAt: fc.integer({ min: 0, max: 5 }),
  });
  const routes = fc.uniqueArray(route, { selector: ({ namespace, name }) => `${namespace}/${name}`, maxLength: 6 });

  test("each place has at most one winner, and every claimant is a winner or in conflict", () => {
    fc.assert(
      fc.property(fc.array(routes, { maxLength: 8 }), (history) => {
        let claims: readonly Claim[] = [];
        for (const [index, claimants] of history.entries()) {
          const decision = resolveClaims(claimants, claims, index * CLAIM_HOLD_MS * 0.4);
          const places = decision.winners.map(({ host, path }) => `${host}${path}`);
          expect(new Set(places).size).toBe(places.length);
          const decided = [...decision.winners, ...decision.conflicts.map((conflict) => conflict.claimant)];
          expect(names(decided).toSorted()).toEqual(names(claimants).toSorted());
          claims = decision.claims;
        }
      }),
    );
  });

  test("who holds a place keeps it as long as it wants it", () => {
    fc.assert(
      fc.property(routes, routes, fc.integer({ min: 0, max: 10 * CLAIM_HOLD_MS }), (before, others, later) => {
        const first = resolveClaims(before, [], 0);
        const known = new Set(names(before));
        const newcomers = others.filter((other) => !known.has(names([other])[0] ?? ""));
        const second = resolveClaims([...newcomers, ...before], first.claims, later);
        expect(names(second.winners)).toEqual(expect.arrayContaining(names(first.winners)));
      }),
    );
  });

  test("the order in which claimants are listed does not matter", () => {
    fc.assert(
      fc.property(routes, (claimants) => {
        const forward = resolveClaims(claimants, [], 0);
        const backward = resolveClaims(claimants.toReversed(), [], 0);
        expect(names(backward.winners).toSorted()).toEqual(names(forward.winners).toSorted());
      }),
    );
  });
});
