import type { ManifestProblem, RouteManifest } from "../api/manifests.ts";
import { resolveClaims } from "../routes/claims.ts";

/** The routes of manifests that want a host and path which another one has: the first by namespace and name gets it. */
export function placeConflicts(routes: readonly RouteManifest[]): ManifestProblem[] {
  const claimants = routes.map(({ namespace, name, spec }) => ({ namespace, name, ...spec.exposure, createdAt: 0 }));
  return resolveClaims(claimants, [], 0, 0).conflicts.flatMap(({ claimant, holder }) => {
    const manifest = routes.find(({ namespace, name }) => namespace === claimant.namespace && name === claimant.name);
    if (manifest === undefined) return [];
    const { file, kind, namespace, name } = manifest;
    const problem = {
      path: "spec.exposure",
      message: `${claimant.host}${claimant.path} is also wanted by ${holder.namespace}/${holder.name}`,
      remedy: "choose another path",
      source: "semantic",
      severity: "error",
    } as const;
    return [{ file, kind, namespace, name, problem }];
  });
}
