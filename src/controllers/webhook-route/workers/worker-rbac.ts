import type { DesiredObject } from "../children/desired-object.ts";
import { type WorkerPlace, workerChild } from "./worker-place.ts";

const RBAC = "rbac.authorization.k8s.io";

/**
 * ServiceAccount, Role and RoleBinding of workers: they may read their config Secrets and nothing else. `watch` and `list` of named objects
 * need `fieldSelector=metadata.name=NAME` in the request (kubernetes.io/docs, "Using RBAC Authorization", referring to resources).
 *
 * @param secrets names of the config Secrets
 */
export function workerRbac(place: WorkerPlace, secrets: readonly string[]): readonly DesiredObject[] {
  const { name, namespace } = place;
  return [
    workerChild(place, { apiVersion: "v1", kind: "ServiceAccount", automountServiceAccountToken: false }),
    workerChild(place, {
      apiVersion: `${RBAC}/v1`,
      kind: "Role",
      rules: [{ apiGroups: [""], resources: ["secrets"], resourceNames: secrets, verbs: ["get", "list", "watch"] }],
    }),
    workerChild(place, {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    }),
  ];
}
