import { CLEANUP_POLICIES, CLEANUP_RUNS } from "../../../api/cleanup-resources.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import type { DesiredObject } from "../children/desired-object.ts";
import { type WorkerPlace, workerChild } from "./worker-place.ts";

const RBAC = "rbac.authorization.k8s.io";

/** What workers may do in the namespace of their routes. */
export interface RunRights {
  readonly namespace: string;
  /** Names of the CleanupPolicies whose runs they make, sorted; empty: nothing. */
  readonly policies: readonly string[];
}

/** The CleanupPolicies that cleanup destinations of these routes name. */
export function policiesOf(routes: readonly RouteEntry[]): readonly string[] {
  const targets = routes.flatMap(({ destinations }) => destinations.map(({ target }) => target));
  return [...new Set(targets.flatMap((target) => (target.type === "cleanup" ? [target.policy] : [])))].toSorted();
}

/**
 * ServiceAccount, Role and RoleBinding of workers: they may read their config Secrets, make runs of the CleanupPolicies that their routes name, and nothing
 * else. `watch` and `list` of named objects need `fieldSelector=metadata.name=NAME` in the request (kubernetes.io/docs, "Using RBAC Authorization", referring
 * to resources); `create` cannot be bound to names, as the same page says.
 *
 * @param secrets names of the config Secrets
 */
export function workerRbac(place: WorkerPlace, secrets: readonly string[], runs: RunRights): readonly DesiredObject[] {
  const own = [{ apiGroups: [""], resources: ["secrets"], resourceNames: secrets, verbs: ["get", "list", "watch"] }];
  const cleanup = runRules(runs);
  const isHere = runs.namespace === place.namespace;
  return [
    workerChild(place, { apiVersion: "v1", kind: "ServiceAccount", automountServiceAccountToken: false }),
    ...granted(place, place.namespace, isHere ? [...own, ...cleanup] : own),
    ...(isHere || cleanup.length === 0 ? [] : granted(place, runs.namespace, cleanup)),
  ];
}

/** A Role of the workers in a namespace, bound to their ServiceAccount. */
function granted(place: WorkerPlace, namespace: string, rules: readonly object[]): readonly DesiredObject[] {
  const { name } = place;
  const there = { ...place, namespace };
  return [
    workerChild(there, { apiVersion: `${RBAC}/v1`, kind: "Role", rules }),
    workerChild(there, {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, namespace: place.namespace }],
    }),
  ];
}

function runRules({ policies }: RunRights): readonly object[] {
  if (policies.length === 0) return [];
  const { group, plural } = CLEANUP_POLICIES;
  return [
    { apiGroups: [group], resources: [plural], resourceNames: policies, verbs: ["get"] },
    { apiGroups: [CLEANUP_RUNS.group], resources: [CLEANUP_RUNS.plural], verbs: ["get", "create"] },
  ];
}
