import type { VersionEntry } from "../store/port.ts";
import type { FactRules, GroupDecision, GroupPlan, KeepReason, Kept, VersionFacts } from "./types.ts";

/**
 * Decides about the candidates of a key by what the store says of them now. The rules of {@link import("./plan-group.ts").planGroup} go on to hold: once an older
 * version stays, newer ones and delete markers stay.
 *
 * @param facts by version, of every candidate that is no delete marker: S3 answers no HEAD of those
 * @throws RangeError when a candidate was not asked about
 */
export function decideGroup(
  { candidates, kept: keptByListing }: GroupPlan,
  facts: ReadonlyMap<string, VersionFacts>,
  rules: FactRules,
): GroupDecision {
  const deletes: VersionEntry[] = [];
  const absent: VersionEntry[] = [];
  const kept: Kept[] = [...keptByListing];
  let olderStays = false;
  for (const entry of candidates) {
    if (entry.type === "DeleteMarker") {
      deletes.push(entry);
      continue;
    }
    const found = facts.get(entry.versionId);
    if (found === undefined) throw new RangeError("a version is decided about that the store was not asked about");
    if (!found.exists) {
      absent.push(entry);
      continue;
    }
    const reason: KeepReason | undefined = reasonToKeep(found, rules) ?? (olderStays ? "ProtectedSibling" : undefined);
    olderStays ||= reason !== undefined;
    if (reason === undefined) deletes.push(entry);
    else kept.push({ entry, reason });
  }
  const decision = olderStays ? withoutMarkers({ deletes, absent, kept }) : { deletes, absent, kept };
  return { ...decision, stages: stagesOf(decision.deletes) };
}

function reasonToKeep(found: Extract<VersionFacts, { exists: true }>, rules: FactRules): KeepReason | undefined {
  if (rules.legalHold && found.legalHold) return "LegalHold";
  if (rules.objectLock && found.retainUntil !== undefined && found.retainUntil > rules.now) return "Retention";
  const isProtected = rules.tags.some(({ key, value }) =>
    found.tags.some((tag) => tag.key === key && (value === undefined || tag.value === value)),
  );
  return isProtected ? "ProtectedTag" : undefined;
}

type Verdicts = Omit<GroupDecision, "stages">;

function withoutMarkers({ deletes, absent, kept }: Verdicts): Verdicts {
  const markers = deletes.filter(({ type }) => type === "DeleteMarker");
  const needed = markers.map((entry) => ({ entry, reason: "DeleteMarkerNeeded" as const }));
  const versions = deletes.filter(({ type }) => type === "Version");
  return { deletes: versions, absent, kept: [...kept, ...needed] };
}

/** Versions first, as nothing shows below a marker. */
function stagesOf(deletes: readonly VersionEntry[]): GroupDecision["stages"] {
  const versions = deletes.filter(({ type }) => type === "Version");
  const markers = deletes.filter(({ type }) => type === "DeleteMarker");
  return [versions.slice(0, -1), versions.slice(-1), markers].filter(({ length }) => length > 0);
}
