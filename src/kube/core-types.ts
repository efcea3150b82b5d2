import type {
  V1ConfigMap,
  V1Deployment,
  V1Ingress,
  V1Namespace,
  V1Pod,
  V1PodDisruptionBudget,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1ServiceAccount,
  V2HorizontalPodAutoscaler,
} from "@kubernetes/client-node";
import type { BuiltIn, KubeObject } from "./objects.ts";
import type { ResourceType } from "./resource-type.ts";

/** `Secret`. `data` is base64. */
export type Secret = BuiltIn<V1Secret>;
export type ConfigMap = BuiltIn<V1ConfigMap>;
export type ServiceAccount = BuiltIn<V1ServiceAccount>;
export type Namespace = BuiltIn<V1Namespace>;
export type Pod = BuiltIn<V1Pod>;
export type Deployment = BuiltIn<V1Deployment>;
export type Ingress = BuiltIn<V1Ingress>;
export type PodDisruptionBudget = BuiltIn<V1PodDisruptionBudget>;
export type HorizontalPodAutoscaler = BuiltIn<V2HorizontalPodAutoscaler>;
export type Role = BuiltIn<V1Role>;
export type RoleBinding = BuiltIn<V1RoleBinding>;

/** `Lease` (coordination.k8s.io/v1). Times are RFC 3339 with microseconds. */
export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

type Place = Pick<ResourceType, "group" | "version" | "namespaced">;
const CORE: Place = { group: "", version: "v1", namespaced: true };
const APPS: Place = { group: "apps", version: "v1", namespaced: true };
const RBAC: Place = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: true };

export const SECRETS: ResourceType<Secret> = { ...CORE, kind: "Secret", plural: "secrets" };
export const CONFIG_MAPS: ResourceType<ConfigMap> = { ...CORE, kind: "ConfigMap", plural: "configmaps" };
export const SERVICE_ACCOUNTS: ResourceType<ServiceAccount> = {
  ...CORE,
  kind: "ServiceAccount",
  plural: "serviceaccounts",
};
export const PODS: ResourceType<Pod> = { ...CORE, kind: "Pod", plural: "pods" };
export const NAMESPACES: ResourceType<Namespace> = {
  ...CORE,
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
};
export const DEPLOYMENTS: ResourceType<Deployment> = { ...APPS, kind: "Deployment", plural: "deployments" };
export const INGRESSES: ResourceType<Ingress> = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  plural: "ingresses",
  namespaced: true,
};
export const POD_DISRUPTION_BUDGETS: ResourceType<PodDisruptionBudget> = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
};
export const HORIZONTAL_POD_AUTOSCALERS: ResourceType<HorizontalPodAutoscaler> = {
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  namespaced: true,
};
export const ROLES: ResourceType<Role> = { ...RBAC, kind: "Role", plural: "roles" };
export const ROLE_BINDINGS: ResourceType<RoleBinding> = { ...RBAC, kind: "RoleBinding", plural: "rolebindings" };
export const LEASES: ResourceType<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};
