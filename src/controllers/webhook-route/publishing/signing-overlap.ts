import type { Live } from "../../../kube/objects.ts";
import { parseDuration } from "../../../lib/duration.ts";
import { manifestOf, validationOf } from "../route/assessment.ts";
import { type RouteIndex, type RouteObject, signingRef } from "../watching/route-index.ts";

/**
 * How long a signing key that was replaced is signed with, ms. Routes of a namespace that name one key have one ring: the longest overlap among them
 * holds, so that no route ends what the receivers of another still need. `undefined`: the route signs nothing.
 */
export function signingOverlapMs(routes: RouteIndex, route: Live<RouteObject>): number | undefined {
  const ref = signingRef(route);
  if (ref === undefined) return undefined;
  const others = routes.ofNamespace(route.metadata.namespace ?? "").flatMap((key) => routes.get(key) ?? []);
  const overlaps = [route, ...others].flatMap((one) => {
    const its = signingRef(one);
    if (its?.name !== ref.name || its.key !== ref.key) return [];
    const { spec } = validationOf(manifestOf(one));
    return spec === undefined ? [] : [parseDuration(spec.rotation.overlap)];
  });
  return overlaps.length === 0 ? undefined : Math.max(...overlaps);
}
