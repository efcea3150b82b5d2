import type { Operator } from "../operator.ts";
import type { Watches } from "./watches.ts";

/** Secrets of a namespace are watched no longer once nothing there refers to any. */
export function releaseSecrets(
  { tenantSecrets }: Pick<Watches, "tenantSecrets">,
  { routes, destinations, otherUsers = [] }: Pick<Operator, "routes" | "destinations" | "otherUsers">,
  namespace: string,
): void {
  const count = routes.ofNamespace(namespace).length + destinations.index.ofNamespace(namespace).length;
  if (count === 0 && !otherUsers.some((uses) => uses(namespace))) tenantSecrets.release(namespace);
}
