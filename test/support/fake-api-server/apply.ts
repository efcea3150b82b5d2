import { isDeepStrictEqual } from "node:util";
import { leavesOf, setLeaf, type Sent, type StoredObject } from "./object.ts";
import { StatusError } from "./status-error.ts";

/** Who owns which leaves of an object. */
export type Owners = Map<string, Set<string>>;

/** The request's part of a server-side apply. */
export interface Application {
  readonly manager: string;
  readonly force: boolean;
}

/**
 * Server-side apply with every map granular and every list one value: enough for what Davit applies.
 * Changes `object` and `owners`.
 * @throws StatusError 409 with a cause for each field that others own with another value
 */
export function applyTo(object: StoredObject, owners: Owners, sent: Sent, { manager, force }: Application): void {
  const wanted = leavesOf(sent);
  const live = leavesOf(object);
  const clashes = [...wanted].filter(
    ([leaf, value]) => !isDeepStrictEqual(live.get(leaf), value) && ownedByOthers(owners, leaf, manager),
  );
  if (clashes.length > 0 && !force) {
    const causes = clashes.map(([field]) => ({ reason: "FieldManagerConflict", field }));
    throw new StatusError(409, "Conflict", `Apply failed with ${clashes.length} conflicts`, { causes });
  }
  for (const [leaf] of clashes) for (const owned of owners.values()) owned.delete(leaf);
  for (const leaf of owners.get(manager) ?? []) {
    if (!wanted.has(leaf) && !ownedByOthers(owners, leaf, manager)) setLeaf(object, leaf, undefined);
  }
  for (const [leaf, value] of wanted) setLeaf(object, leaf, structuredClone(value));
  owners.set(manager, new Set(wanted.keys()));
}

/** Whatever a write that is no apply changed belongs to its sender from now on. */
export function takeChanged(before: StoredObject | undefined, after: StoredObject, owners: Owners, manager: string) {
  const old = before ? leavesOf(before) : new Map<string, unknown>();
  const mine = owners.get(manager) ?? new Set<string>();
  owners.set(manager, mine);
  const now = leavesOf(after);
  for (const [leaf, value] of now) {
    if (old.has(leaf) && isDeepStrictEqual(old.get(leaf), value)) continue;
    for (const owned of owners.values()) owned.delete(leaf);
    mine.add(leaf);
  }
  for (const owned of owners.values()) for (const leaf of owned) if (!now.has(leaf)) owned.delete(leaf);
}

function ownedByOthers(owners: Owners, leaf: string, manager: string): boolean {
  return [...owners].some(([owner, leaves]) => owner !== manager && leaves.has(leaf));
}
