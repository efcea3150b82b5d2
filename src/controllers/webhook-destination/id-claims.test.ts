import { beforeEach, describe, expect, test } from "vitest";
import { idConflictOf } from "./id-claims.ts";
import { destinationOf, emptySide, publishedOf } from "./testing.ts";

let side: ReturnType<typeof emptySide>;
beforeEach(() => {
  side = emptySide();
});

const at = (second: number) => ({ creationTimestamp: `2026-01-01T00:00:0${second}Z` });
function put(name: string, created: number, spec: Parameters<typeof destinationOf>[1] = { id: "acme" }) {
  const destination = destinationOf(name, spec, at(created));
  side.index.put(`shop/${name}`, destination);
  return destination;
}
const conflict = (destination: ReturnType<typeof put>) => idConflictOf(side, "default", destination);

describe("an id that two WebhookDestinations want", () => {
  test("goes to the older one while none is published", () => {
    const [young, old] = [put("young", 2), put("old", 1)];
    expect(conflict(old)).toBeUndefined();
    expect(conflict(young)).toBe(
      'the id "acme" belongs to WebhookDestination old: choose another id, or delete that one',
    );
  });

  test("stays with the one that is published, whatever its age, and with the first of two", () => {
    const [young, old] = [put("young", 2), put("old", 1)];
    side.publications.put(publishedOf(young, { seq: 5 }));
    expect([conflict(young), conflict(old) === undefined]).toEqual([undefined, false]);
    side.publications.put(publishedOf(old, { seq: 9 }));
    expect([conflict(young), conflict(old) === undefined]).toEqual([undefined, false]);
  });

  test("is not kept by what an earlier one of the name published under another UID", () => {
    const [young, old] = [put("young", 2), put("old", 1)];
    side.publications.put(publishedOf(young, { seq: 5, uid: "an earlier one" }));
    expect([conflict(old), conflict(young) === undefined]).toEqual([undefined, false]);
  });

  test("is not kept from anybody by one that is not valid and was never published", () => {
    const invalid = put("old", 1, { id: "acme", url: "ftp://nowhere" });
    const young = put("young", 2);
    expect(conflict(young)).toBeUndefined();
    side.publications.put(publishedOf(invalid));
    expect(conflict(young)).toContain("belongs to WebhookDestination old");
  });
});
