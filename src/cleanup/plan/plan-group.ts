import type { VersionEntry } from "../store/port.ts";
import type { GroupPlan, KeepReason, KeyGroup, Kept, ListingRules } from "./types.ts";

/**
 * Says by the listing alone which versions of a key may go. A version goes only when no older one stays, so that no deletion brings an older one back; a delete
 * marker only with everything else of its key.
 *
 * @throws RangeError for a key outside the prefix: no listing may have let it through
 */
export function planGroup(group: KeyGroup, rules: ListingRules): GroupPlan {
  const { key, entries, tooLarge } = group;
  if (!key.startsWith(rules.prefix)) throw new RangeError("a key that is not under the prefix is planned");
  if (tooLarge !== undefined) return { group, expired: tooLarge, candidates: [], kept: [] };
  const hasExpired = ({ lastModified }: VersionEntry) => isBefore(lastModified, rules.cutoff);
  const expired = entries.filter(hasExpired);
  if (expired.length === 0) return { group, expired: 0, candidates: [], kept: [] };
  const ofKey = reasonOfKey(key, rules);
  if (ofKey !== undefined) return { group, expired: expired.length, candidates: [], kept: allKept(expired, ofKey) };
  return { group, expired: expired.length, ...chooseExpired(entries, hasExpired) };
}

/** A store that lists whole seconds leaves the rest out: what was written within the second of the cutoff may be newer than it. */
function isBefore(lastModified: number, cutoff: number): boolean {
  return lastModified % 1_000 === 0 ? lastModified < Math.floor(cutoff / 1_000) * 1_000 : lastModified < cutoff;
}

function reasonOfKey(key: string, { protectedPrefixes, isReferenced }: ListingRules): KeepReason | undefined {
  if (protectedPrefixes.some((prefix) => key.startsWith(prefix))) return "ProtectedPrefix";
  return isReferenced(key) ? "InManifest" : undefined;
}

function allKept(entries: readonly VersionEntry[], reason: KeepReason): Kept[] {
  return entries.map((entry) => ({ entry, reason }));
}

/** @param entries of one key, oldest first */
function chooseExpired(
  entries: readonly VersionEntry[],
  hasExpired: (entry: VersionEntry) => boolean,
): Pick<GroupPlan, "candidates" | "kept"> {
  if (entries.every((entry) => hasExpired(entry) && !isNull(entry))) return { candidates: entries, kept: [] };
  const candidates: VersionEntry[] = [];
  const kept: Kept[] = [];
  let olderStays = false;
  for (const entry of entries) {
    const isExpired = hasExpired(entry);
    const reason = reasonToKeep(entry, olderStays);
    if (entry.type === "Version") olderStays ||= !isExpired || reason !== undefined;
    if (!isExpired) continue;
    if (reason === undefined) candidates.push(entry);
    else kept.push({ entry, reason });
  }
  return { candidates, kept };
}

/** Of an expired entry, when something of its key stays. */
function reasonToKeep(entry: VersionEntry, olderStays: boolean): KeepReason | undefined {
  if (isNull(entry)) return "NullVersion";
  if (entry.type === "DeleteMarker") return "DeleteMarkerNeeded";
  return olderStays ? "ProtectedSibling" : undefined;
}

/** Under this name another object may lie at any time. */
function isNull({ versionId }: VersionEntry): boolean {
  return versionId === "null";
}
