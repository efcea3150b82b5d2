import {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  INGRESSES,
  POD_DISRUPTION_BUDGETS,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../kube/core-types.ts";
import type { ResourceType } from "../../../kube/resource-type.ts";

/** HTTPRoutes of the Gateway API (https://gateway-api.sigs.k8s.io/), version v1. */
const HTTP_ROUTES: ResourceType = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "HTTPRoute",
  plural: "httproutes",
  namespaced: true,
};

/** Lets HTTPRoutes of other namespaces point at the gateways' Service. Only in v1beta1 as of Gateway API 1.4. */
export const REFERENCE_GRANTS: ResourceType = {
  group: "gateway.networking.k8s.io",
  version: "v1beta1",
  kind: "ReferenceGrant",
  plural: "referencegrants",
  namespaced: true,
};

/** Of KEDA (https://keda.sh/docs/latest/reference/scaledobject-spec/). */
export const SCALED_OBJECTS: ResourceType = {
  group: "keda.sh",
  version: "v1alpha1",
  kind: "ScaledObject",
  plural: "scaledobjects",
  namespaced: true,
};

/** How the objects of one kind of children are found. */
export interface ChildWatch {
  readonly type: ResourceType;
  /** A cluster may lack the kind. */
  readonly isOptional?: true;
  /** Objects of the kind lie in the release's namespace only. */
  readonly isReleaseOnly?: true;
  /** Added to the labels that every child has. */
  readonly labelSelector?: string;
}

/** Every kind of object that is made for routes and can be made again. Rings and entries are state, and not among them. */
export const CHILD_WATCHES = {
  Deployment: { type: DEPLOYMENTS },
  Secret: { type: SECRETS, labelSelector: "davit.dev/component=worker-config" },
  ServiceAccount: { type: SERVICE_ACCOUNTS },
  Role: { type: ROLES },
  RoleBinding: { type: ROLE_BINDINGS },
  PodDisruptionBudget: { type: POD_DISRUPTION_BUDGETS },
  HorizontalPodAutoscaler: { type: HORIZONTAL_POD_AUTOSCALERS },
  ScaledObject: { type: SCALED_OBJECTS, isOptional: true },
  Ingress: { type: INGRESSES, isReleaseOnly: true },
  HTTPRoute: { type: HTTP_ROUTES, isOptional: true },
  ReferenceGrant: { type: REFERENCE_GRANTS, isOptional: true, isReleaseOnly: true },
} as const satisfies Record<string, ChildWatch>;

export type ChildKind = keyof typeof CHILD_WATCHES;

/** Kinds of which workers may have objects. */
export const WORKER_KINDS: readonly ChildKind[] = [
  "Deployment",
  "Secret",
  "ServiceAccount",
  "Role",
  "RoleBinding",
  "PodDisruptionBudget",
  "HorizontalPodAutoscaler",
  "ScaledObject",
];
