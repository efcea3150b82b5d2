import type { Right } from "../access.ts";
import type { Directory, KnownDestination } from "../directory.ts";
import { Refused } from "../refusals.ts";

/** Namespace and id of a WebhookDestination, as a path has them. */
interface DestinationPath {
  readonly namespace: string;
  readonly destination: string;
}

/** @throws Refused `NoSuchDestination` */
export function knownDestination(
  directory: Directory,
  { namespace, destination: id }: DestinationPath,
): KnownDestination {
  const known = directory.destination(namespace, id);
  if (known === undefined) throw new Refused("NoSuchDestination");
  return known;
}

/** A right to one WebhookDestination. RBAC knows it by its `metadata.name`; a refusal tells its id only, which the caller knows. */
export function rightTo(
  {
    directory,
    path: { namespace, destination: id },
  }: { readonly directory: Directory; readonly path: DestinationPath },
  right: Pick<Right, "verb" | "on">,
): readonly Right[] {
  return [{ ...right, namespace, name: directory.destination(namespace, id)?.name ?? id, shown: id }];
}
