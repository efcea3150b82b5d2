import { SIGNING_OVERLAP_MS } from "../../../routes/compile-destination.ts";
import type { Live } from "../../../kube/objects.ts";
import { parseDuration } from "../../../lib/duration.ts";
import { manifestOf, validationOf } from "../route/assessment.ts";
import { type KeyRef, signingRef as destinationsRef } from "../../webhook-destination/destination-index.ts";
import type { Operator } from "../operator.ts";
import { type RouteObject, signingRef } from "../watching/route-index.ts";

/** Who may have a ring in common. */
type Sharing = Pick<Operator, "routes" | "destinations">;

/**
 * How long a signing key that was replaced is signed with, ms. Routes and WebhookDestinations of a namespace that name one key have one ring: the longest
 * overlap among them holds, so that none ends what the receivers of another still need. `undefined`: the route signs nothing.
 */
export function signingOverlapMs(sharing: Sharing, route: Live<RouteObject>): number | undefined {
  const ref = signingRef(route);
  if (ref === undefined) return undefined;
  const shared = ringOverlapMs(sharing, route.metadata.namespace ?? "", ref);
  const own = overlapsOf(route, ref);
  return shared === undefined && own.length === 0 ? undefined : Math.max(shared ?? 0, ...own);
}

/** As {@link signingOverlapMs}, of the ring of a key. `undefined`: nobody has it. */
export function ringOverlapMs({ routes, destinations }: Sharing, namespace: string, ref: KeyRef): number | undefined {
  const secret = `${namespace}/${ref.name}`;
  const ofRoutes = routes.ofSecret(secret).flatMap((key) => routes.get(key) ?? []);
  const overlaps = ofRoutes.flatMap((route) => overlapsOf(route, ref));
  const isDestinations = destinations.index.ofSecret(secret).some((key) => {
    const destination = destinations.index.get(key);
    const its = destination && destinationsRef(destination);
    return its !== undefined && isSame(its, ref);
  });
  if (isDestinations) overlaps.push(SIGNING_OVERLAP_MS);
  return overlaps.length === 0 ? undefined : Math.max(...overlaps);
}

function overlapsOf(route: Live<RouteObject>, ref: KeyRef): number[] {
  const its = signingRef(route);
  if (its === undefined || !isSame(its, ref)) return [];
  const { spec } = validationOf(manifestOf(route));
  return spec === undefined ? [] : [parseDuration(spec.rotation.overlap)];
}

function isSame(a: KeyRef, b: KeyRef): boolean {
  return a.name === b.name && a.key === b.key;
}
