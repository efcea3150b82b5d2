import { destinationId } from "../api/names.ts";

/** A WebhookDestination that wants an id in its namespace. */
export interface IdClaimant {
  /** `metadata.name`. */
  readonly name: string;
  /** `spec.id`, else the name. */
  readonly id: string;
  /** Unix ms. */
  readonly createdAt: number;
}

/** One that does not get it: `Accepted=False/IdConflict`. */
export interface IdConflict {
  readonly claimant: IdClaimant;
  /** Name of the WebhookDestination that has the id. */
  readonly holder: string;
}

/**
 * Decides who gets each id of a namespace. The incumbent keeps it whatever the ages: copies are on their way to it. Where there is none, or it wants the id no
 * more, the oldest gets it, then the first by name.
 *
 * @param incumbents name of who had an id last, by {@link destinationId}
 */
export function decideIds(
  claimants: readonly IdClaimant[],
  incumbents: ReadonlyMap<string, string>,
): { readonly holders: ReadonlyMap<string, string>; readonly conflicts: readonly IdConflict[] } {
  const byId = new Map<string, IdClaimant[]>();
  for (const claimant of claimants) {
    const id = destinationId(claimant.id) ?? "";
    byId.set(id, [...(byId.get(id) ?? []), claimant]);
  }
  const holders = new Map<string, string>();
  const conflicts: IdConflict[] = [];
  for (const [id, wanting] of byId) {
    const incumbent = wanting.find(({ name }) => name === incumbents.get(id));
    const holder = incumbent ?? wanting.toSorted(byAge)[0];
    if (holder === undefined) continue;
    holders.set(id, holder.name);
    for (const claimant of wanting) if (claimant !== holder) conflicts.push({ claimant, holder: holder.name });
  }
  return { holders, conflicts };
}

/** Why a WebhookDestination does not get its id, and what helps. */
export function idConflictText({ claimant: { id }, holder }: IdConflict): string {
  return `the id ${JSON.stringify(id)} belongs to WebhookDestination ${holder}: choose another id, or delete that one`;
}

function byAge(a: IdClaimant, b: IdClaimant): number {
  return a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1);
}
