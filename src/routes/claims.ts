/** How long a host and path that another namespace held stays reserved for that namespace. */
export const CLAIM_HOLD_MS = 24 * 3_600_000;

/** A route that wants a host and path. */
export interface Claimant {
  readonly namespace: string;
  readonly name: string;
  readonly host: string;
  readonly path: string;
  /** Unix ms. */
  readonly createdAt: number;
}

/** A published entry, or what is left of it: the claim on its host and path. */
export interface Claim {
  readonly namespace: string;
  readonly name: string;
  readonly host: string;
  readonly path: string;
  /** Unix ms since which its route no longer wants the place. Absent: it still did when last looked at. */
  readonly releasedAt?: number;
}

/** A route that does not get the place: `HostPathConflict`. */
export interface Conflict {
  readonly claimant: Claimant;
  /** Who has the place. */
  readonly holder: Pick<Claim, "namespace" | "name">;
  /** Unix ms from which the place is free for other namespaces. Absent: while the holder keeps it. */
  readonly heldUntil?: number;
}

/** Why a route does not get the place, and what helps. */
export function conflictText({ claimant: { host, path }, holder, heldUntil }: Conflict): string {
  const name = `${holder.namespace}/${holder.name}`;
  return heldUntil === undefined
    ? `${host}${path} belongs to ${name}: choose another path, or delete that route`
    : `${host}${path} was that of ${name} and stays with its namespace until ${new Date(heldUntil).toISOString()}: wait, or choose another path`;
}

export interface ClaimDecision {
  readonly winners: readonly Claimant[];
  readonly conflicts: readonly Conflict[];
  /** The claims to remember: the winners', and released ones that are still held for their namespace. */
  readonly claims: readonly Claim[];
}

/**
 * Decides who gets each host and path. The incumbent keeps it whatever the ages. Once it lets go, the next of its own namespace follows at
 * once, others after the hold, so that a deleted route's URL is not taken over by a stranger. Among several the oldest wins, then
 * namespace/name.
 *
 * @param now Unix ms
 */
export function resolveClaims(
  claimants: readonly Claimant[],
  published: readonly Claim[],
  now: number,
  holdMs: number = CLAIM_HOLD_MS,
): ClaimDecision {
  const incumbents = new Map(published.map((claim) => [placeOf(claim), claim]));
  const groups = new Map<string, Claimant[]>();
  for (const claimant of claimants) {
    groups.set(placeOf(claimant), [...(groups.get(placeOf(claimant)) ?? []), claimant]);
  }
  const decisions = [...new Set([...incumbents.keys(), ...groups.keys()])].map((place) =>
    decide(groups.get(place) ?? [], incumbents.get(place), now, holdMs),
  );
  return {
    winners: decisions.flatMap((decision) => decision.winners),
    conflicts: decisions.flatMap((decision) => decision.conflicts),
    claims: decisions.flatMap((decision) => decision.claims),
  };
}

function decide(
  claimants: readonly Claimant[],
  incumbent: Claim | undefined,
  now: number,
  holdMs: number,
): ClaimDecision {
  const ordered = claimants.toSorted(byAge);
  const released = incumbent === undefined ? undefined : { ...incumbent, releasedAt: incumbent.releasedAt ?? now };
  const isHeld = released !== undefined && now < released.releasedAt + holdMs;
  const winner =
    ordered.find((claimant) => isSame(claimant, incumbent)) ??
    ordered.find((claimant) => !isHeld || claimant.namespace === released.namespace);
  if (winner === undefined) {
    if (!isHeld) return { winners: [], conflicts: [], claims: [] };
    const heldUntil = released.releasedAt + holdMs;
    return {
      winners: [],
      conflicts: ordered.map((claimant) => ({ claimant, holder: released, heldUntil })),
      claims: [released],
    };
  }
  const { namespace, name, host, path } = winner;
  return {
    winners: [winner],
    conflicts: ordered.filter((claimant) => claimant !== winner).map((claimant) => ({ claimant, holder: winner })),
    claims: [{ namespace, name, host, path }],
  };
}

function placeOf({ host, path }: { readonly host: string; readonly path: string }): string {
  return `${host} ${path}`;
}

function isSame(claimant: Claimant, claim: Claim | undefined): boolean {
  return claimant.namespace === claim?.namespace && claimant.name === claim.name;
}

function byAge(a: Claimant, b: Claimant): number {
  return a.createdAt - b.createdAt || compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
