import { describe } from "vitest";
import { deletingConformance } from "./deleting.ts";
import { factsConformance } from "./facts.ts";
import type { OpenBucket } from "./fixtures.ts";
import { listingConformance } from "./listing.ts";

/** What cleanup relies on of any store: the one in memory and a real one. */
export function storeConformance(open: OpenBucket): void {
  describe("listing", () => {
    listingConformance(open);
  });
  describe("facts", () => {
    factsConformance(open);
  });
  describe("deleting", () => {
    deletingConformance(open);
  });
}
