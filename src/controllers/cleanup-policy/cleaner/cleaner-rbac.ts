import type { DesiredObject } from "../../webhook-route/children/desired-object.ts";
import { cleanerChild, type CleanerPlace } from "./cleaner-place.ts";

const RBAC = "rbac.authorization.k8s.io";
const LOOK = ["get", "list", "watch"];

/**
 * ServiceAccount, Role and RoleBinding of a cleaner: it reads its policy and the runs of the namespace, writes what becomes of runs, and tells it in Events. Nothing of
 * Secrets: those that it uses are mounted.
 *
 * @param serviceAccountName one that the policy names; it is its owner's, and only bound
 */
export function cleanerRbac(place: CleanerPlace, serviceAccountName: string | undefined): readonly DesiredObject[] {
  const { name, namespace, policy } = place;
  const own = cleanerChild(place, { apiVersion: "v1", kind: "ServiceAccount", automountServiceAccountToken: false });
  return [
    ...(serviceAccountName === undefined ? [own] : []),
    cleanerChild(place, {
      apiVersion: `${RBAC}/v1`,
      kind: "Role",
      rules: [
        { apiGroups: ["davit.dev"], resources: ["cleanuppolicies"], resourceNames: [policy], verbs: LOOK },
        { apiGroups: ["davit.dev"], resources: ["cleanupruns"], verbs: LOOK },
        { apiGroups: ["davit.dev"], resources: ["cleanupruns/status"], verbs: ["update", "patch"] },
        { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
      ],
    }),
    cleanerChild(place, {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name: serviceAccountName ?? name, namespace }],
    }),
  ];
}
