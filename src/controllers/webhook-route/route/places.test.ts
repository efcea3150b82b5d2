import { describe, expect, test } from "vitest";
import { entryOf } from "../../../routes/testing.ts";
import { decidePlace } from "./places.ts";
import { releasedSecret, servedSecret } from "../testing.ts";

const PLACE = { host: "hooks.example.com", path: "/shop/orders" };
const claimant = (namespace: string, name: string, createdAt: number) => ({ namespace, name, createdAt, ...PLACE });
const served = (namespace: string, name: string) => servedSecret({ ...entryOf(), namespace, name });
const released = (namespace: string, name: string, releasedAt: number) =>
  releasedSecret({ namespace, name, releasedAt, ...PLACE });

const decide = (
  claimants: ReturnType<typeof claimant>[],
  published: Parameters<typeof decidePlace>[0]["published"],
) => {
  const { winners, conflicts } = decidePlace({ claimants, published, now: 1_000, holdMs: 500 });
  return { winners: winners.map(({ name }) => name), conflicts: conflicts.map(({ claimant: { name } }) => name) };
};

describe("a place", () => {
  test("goes to the oldest when nothing is published", () => {
    expect(decide([claimant("a", "young", 2), claimant("b", "old", 1)], [])).toEqual({
      winners: ["old"],
      conflicts: ["young"],
    });
  });

  test("stays with whoever is served there, however young", () => {
    const claimants = [claimant("a", "old", 1), claimant("b", "served", 2)];
    expect(decide(claimants, [served("b", "served")])).toEqual({ winners: ["served"], conflicts: ["old"] });
  });

  test("is held for the namespace that let it go, by its last claim", () => {
    const claims = [released("a", "one", 100), released("b", "two", 900)];
    expect(decide([claimant("a", "again", 1)], claims)).toEqual({ winners: [], conflicts: ["again"] });
    expect(decide([claimant("b", "next", 1)], claims)).toEqual({ winners: ["next"], conflicts: [] });
  });

  test("is free once the hold has passed", () => {
    expect(decide([claimant("a", "new", 1)], [released("b", "gone", 500)])).toEqual({
      winners: ["new"],
      conflicts: [],
    });
  });

  test("is a served route's before a released claim's", () => {
    const claims = [released("a", "gone", 999), served("b", "served")];
    expect(decide([claimant("a", "next", 1), claimant("b", "served", 2)], claims)).toEqual({
      winners: ["served"],
      conflicts: ["next"],
    });
  });

  test("that two are served at is the older one's", () => {
    const both = [served("a", "young"), served("b", "old")];
    expect(decide([claimant("a", "young", 2), claimant("b", "old", 1)], both)).toEqual({
      winners: ["old"],
      conflicts: ["young"],
    });
  });
});
