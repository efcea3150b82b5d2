import type { RouteManifest } from "../../api/manifests.ts";
import { type Claim, type Conflict, conflictText, resolveClaims } from "../../routes/claims.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { placeOf } from "../../routes/match-table.ts";

/** What is remembered of a route for as long as a manifest has it: what an API server keeps in `metadata`. */
export interface KnownRoute {
  /** Unix ms at which it was first seen. */
  readonly createdAt: number;
}

export interface PlacesInput {
  /** Every route that wants a place. */
  readonly routes: readonly RouteManifest[];
  /** As published last, by `namespace/name`. */
  readonly published: ReadonlyMap<string, RouteEntry>;
  /** Claims on places at which nothing was served. */
  readonly released: readonly Claim[];
  /** By `namespace/name`, complete. */
  readonly known: ReadonlyMap<string, KnownRoute>;
  /** Unix ms. */
  readonly now: number;
  readonly holdMs: number;
}

/** A route that does not get the place it wants: `HostPathConflict` in a cluster. */
export interface DevConflict {
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
}

export interface Places {
  /** Routes that get the place they want, by `namespace/name`. */
  readonly winners: ReadonlySet<string>;
  readonly conflicts: readonly DevConflict[];
  /** Of the conflicts, those that go on as they were published, at the place they had. */
  readonly kept: ReadonlySet<string>;
  /** To remember for the next time. */
  readonly released: readonly Claim[];
  /** Unix ms at which a place becomes free that somebody waits for. */
  readonly nextChangeAt?: number;
}

/**
 * Who is served where, decided as the controller does: who has a place keeps it, whoever edits a route onto it is told and goes on at the old one, and
 * the place of a route that went is held for its namespace.
 */
export function decidePlaces({ routes, published, released, known, now, holdMs }: PlacesInput): Places {
  const claimants = routes.map(({ namespace, name, spec: { exposure } }) => {
    const { createdAt = now } = known.get(`${namespace}/${name}`) ?? {};
    return { namespace, name, host: exposure.host, path: exposure.path, createdAt };
  });
  // A served entry counts before a released claim on the same place.
  const decision = resolveClaims(claimants, [...released, ...[...published.values()].map(claimOf)], now, holdMs);
  const taken = new Set(decision.winners.map(placeOf));
  const kept = decision.conflicts
    .map(({ claimant }) => keyOf(claimant))
    .filter((key) => keeps(published.get(key), taken));
  const served = new Set(kept.flatMap((key) => published.get(key) ?? []).map(placeOf));
  const ends = decision.conflicts.flatMap(({ heldUntil }) => heldUntil ?? []);
  return {
    winners: new Set(decision.winners.map(keyOf)),
    conflicts: decision.conflicts.map(describe),
    kept: new Set(kept),
    released: decision.claims.filter((claim) => claim.releasedAt !== undefined && !served.has(placeOf(claim))),
    ...(ends.length > 0 && { nextChangeAt: Math.min(...ends) }),
  };
}

function keeps(entry: RouteEntry | undefined, taken: ReadonlySet<string>): boolean {
  return entry !== undefined && !taken.has(placeOf(entry));
}

function describe(conflict: Conflict): DevConflict {
  const { namespace, name } = conflict.claimant;
  return { namespace, name, message: conflictText(conflict) };
}

function claimOf({ namespace, name, host, path }: RouteEntry): Claim {
  return { namespace, name, host, path };
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
