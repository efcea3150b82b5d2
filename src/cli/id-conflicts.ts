import type { DestinationManifest, ManifestProblem } from "../api/manifests.ts";
import { decideIds, idConflictText } from "../routes/destination-ids.ts";

/** The WebhookDestinations of manifests that want an id which another one of their namespace has: the first by name gets it. */
export function idConflicts(destinations: readonly DestinationManifest[]): ManifestProblem[] {
  const namespaces = new Set(destinations.map(({ namespace }) => namespace));
  return [...namespaces].flatMap((namespace) => {
    const mine = destinations.filter((one) => one.namespace === namespace);
    const claimants = mine.map(({ name, spec }) => ({ name, id: spec.id, createdAt: 0 }));
    return decideIds(claimants, new Map()).conflicts.flatMap((conflict) => {
      const manifest = mine.find(({ name }) => name === conflict.claimant.name);
      if (manifest === undefined) return [];
      const { file, kind, name } = manifest;
      const problem = {
        path: "spec.id",
        message: idConflictText(conflict),
        source: "semantic",
        severity: "error",
      } as const;
      return [{ file, kind, namespace, name, problem }];
    });
  });
}
