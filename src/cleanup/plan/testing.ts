import type { VersionEntry } from "../store/port.ts";
import type { KeyGroup, ListingRules, VersionFacts } from "./types.ts";

/** The cutoff of {@link rules}. */
export const CUTOFF = 1_000;

/** Rules that protect nothing. */
export const rules: ListingRules = { prefix: "p/", cutoff: CUTOFF, protectedPrefixes: [], isReferenced: () => false };

/** One entry of a key: `v` a version, `d` a delete marker; the letter in capitals has the id `null`. */
export type Draft = readonly [kind: "v" | "d" | "V" | "D", lastModified: number];

/** A group of entries, oldest first; the last one is the latest. */
export function groupOf(key: string, ...drafts: readonly Draft[]): KeyGroup {
  const entries = drafts.map(
    ([kind, lastModified], index): VersionEntry => ({
      key,
      versionId: kind === "V" || kind === "D" ? "null" : `${kind}${index}`,
      type: kind.toLowerCase() === "v" ? "Version" : "DeleteMarker",
      isLatest: index === drafts.length - 1,
      lastModified,
      size: 1,
    }),
  );
  return { key, entries };
}

/** A version that nothing protects. */
export const FREE = { exists: true, legalHold: false, tags: [] } as const satisfies VersionFacts;
