import { destinationId, destinationSecretName } from "../../api/names.ts";
import type { Live } from "../../kube/objects.ts";
import { decideIds, type IdClaimant, idConflictText } from "../../routes/destination-ids.ts";
import type { DestinationSide } from "./destination-side.ts";
import { type DestinationObject, idOf } from "./destination-types.ts";
import { validationOf } from "./plan.ts";

interface Claim extends IdClaimant {
  /** Stamp under which it has the id; absent when it has not. */
  readonly seq?: number;
}

/**
 * Why a WebhookDestination does not get its id, and what helps; `undefined` when it gets it.
 * What is published is the claim: of two that are (two leaders wrote at the same time) the one that was first.
 */
export function idConflictOf(
  side: Pick<DestinationSide, "index" | "publications">,
  instance: string,
  destination: Live<DestinationObject>,
): string | undefined {
  const { namespace = "", name } = destination.metadata;
  const id = destinationId(idOf(destination)) ?? "";
  const claims = side.index.ofId(namespace, id).flatMap((key) => claimOf(side, instance, key) ?? []);
  const [incumbent] = claims.filter(({ seq }) => seq !== undefined).toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
  const { conflicts } = decideIds(claims, new Map(incumbent === undefined ? [] : [[id, incumbent.name]]));
  const mine = conflicts.find(({ claimant }) => claimant.name === name);
  return mine && idConflictText(mine);
}

function claimOf(
  { index, publications }: Pick<DestinationSide, "index" | "publications">,
  instance: string,
  key: string,
): Claim | undefined {
  const destination = index.get(key);
  if (destination === undefined) return undefined;
  const { namespace = "", name, uid, creationTimestamp = "" } = destination.metadata;
  const id = idOf(destination);
  const claim = { name, id, createdAt: Date.parse(creationTimestamp) || 0 };
  const { publication } = publications.get(destinationSecretName(instance, namespace, name)) ?? {};
  if (publication?.uid === uid && publication.id === id) return { ...claim, seq: publication.seq };
  // One that is not valid stands in nobody's way, unless copies are on their way to it.
  return validationOf(destination).spec === undefined ? undefined : claim;
}
