import { type Claim, type Claimant, type ClaimDecision, resolveClaims } from "../../../routes/claims.ts";
import { claimIn, type EntrySecret } from "../publishing/publications.ts";

export interface PlaceInput {
  /** Routes that want this place: accepted in every other respect. */
  readonly claimants: readonly Claimant[];
  /** Entry Secrets that claim this place. */
  readonly published: readonly EntrySecret[];
  /** Unix ms. */
  readonly now: number;
  readonly holdMs: number;
}

/**
 * Who gets one place. What is published is the claim: a served entry before a released one, of several served ones (two leaders wrote at the
 * same time) that of the oldest route that still wants it, of several released ones the latest.
 */
export function decidePlace({ claimants, published, now, holdMs }: PlaceInput): ClaimDecision {
  const incumbent = incumbentOf(published, claimants);
  return resolveClaims(claimants, incumbent === undefined ? [] : [incumbent], now, holdMs);
}

function incumbentOf(published: readonly EntrySecret[], claimants: readonly Claimant[]): Claim | undefined {
  const claims = published.flatMap((secret) => claimIn(secret) ?? []);
  const ageOf = (claim: Claim): number =>
    claimants.find(({ namespace, name }) => namespace === claim.namespace && name === claim.name)?.createdAt ??
    Number.POSITIVE_INFINITY;
  const served = claims
    .filter(({ releasedAt }) => releasedAt === undefined)
    .toSorted((a, b) => ageOf(a) - ageOf(b) || compareText(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`));
  const released = claims.toSorted((a, b) => (b.releasedAt ?? 0) - (a.releasedAt ?? 0));
  return served[0] ?? released[0];
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
