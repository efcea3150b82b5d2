import type { Config } from "../../../config/schema.ts";
import type { Refusal } from "../exposure/host-policy.ts";

/** Davit has no rights in a namespace. */
export function notEnabled(
  { release, namespace: own }: Pick<Config, "release" | "namespace">,
  namespace: string,
): Refusal {
  return {
    reason: "NamespaceNotEnabled",
    message: `Davit may not work in namespace ${namespace}: add it to rbac.namespaces of the release, or run: kubectl create rolebinding ${release}-tenant --namespace ${namespace} --clusterrole ${release}-tenant --serviceaccount ${own}:${release}-controller`,
  };
}

/** What is published was written by a newer version. */
export function tooNew(what: "route" | "destination"): Refusal {
  return {
    reason: "Progressing",
    message: `a newer Davit published this ${what}, which this one leaves alone: finish the upgrade of the controllers`,
  };
}
