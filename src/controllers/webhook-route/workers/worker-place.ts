import {
  API_VERSION,
  COMPONENT_LABEL,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NAMESPACE_ANNOTATION,
  ROUTE_ANNOTATION,
  WORKER_LABEL,
  type WorkerScope,
  workerLabel,
  workerName,
} from "../../../api/names.ts";
import type { Config } from "../../../config/schema.ts";
import type { OwnerReference } from "../../../kube/objects.ts";
import { type DesiredObject, type Draft, desiredObject } from "../children/desired-object.ts";

/** What workers take from the release's config. A whole {@link Config} will do. */
export type WorkerRelease = Pick<Config, "release" | "instance" | "namespace" | "logLevel" | "redis" | "workers"> & {
  readonly controller: Pick<Config["controller"], "service">;
};

/** Where the objects of one scope's workers lie, and what they have in common. */
export interface WorkerPlace {
  readonly instance: string;
  readonly namespace: string;
  /** Of the Deployment, ServiceAccount, Role, RoleBinding and PDB, and start of the names of config Secrets. */
  readonly name: string;
  /** Selects the Pods. */
  readonly selector: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

/**
 * The place of a scope's workers: its namespace, or the release's with Redis users `Shared`, whose only credential must not leave it.
 *
 * No `app.kubernetes.io/instance` and none of the route's labels: Argo CD would take the children for its application's and prune them.
 *
 * @param ownerUid UID of the WebhookRoute of a scope of one route; it owns children in its own namespace only, as owners of another are ignored
 */
export function workerPlace(
  scope: WorkerScope,
  { instance, namespace: releaseNamespace, redis }: Pick<WorkerRelease, "instance" | "namespace" | "redis">,
  ownerUid?: string,
): WorkerPlace {
  const isShared = redis.users === "Shared";
  const selector = { [WORKER_LABEL]: workerLabel(instance, scope) };
  return {
    instance,
    namespace: isShared ? releaseNamespace : scope.namespace,
    name: workerName(instance, scope, isShared),
    selector,
    labels: {
      "app.kubernetes.io/name": "davit",
      "app.kubernetes.io/component": "worker",
      [COMPONENT_LABEL]: "worker",
      ...selector,
      // On Pods too: a NetworkPolicy of the release lets them through to Redis by these.
      [MANAGED_BY_LABEL]: MANAGED_BY,
      [INSTANCE_LABEL]: instance,
    },
    annotations: {
      [NAMESPACE_ANNOTATION]: scope.namespace,
      ...("route" in scope && { [ROUTE_ANNOTATION]: `${scope.namespace}/${scope.route}` }),
    },
    ...(ownerUid !== undefined &&
      "route" in scope &&
      !isShared && { ownerReferences: [ownerReference(scope.route, ownerUid)] }),
  };
}

function ownerReference(name: string, uid: string): OwnerReference {
  return { apiVersion: API_VERSION, kind: "WebhookRoute", name, uid, controller: true };
}

/** What differs between the objects of a place. */
export type WorkerDraft = Omit<Draft, "metadata"> & {
  readonly apiVersion: string;
  readonly kind: string;
  /** Default: the place's. */
  readonly name?: string;
  readonly component?: string;
  readonly annotations?: Readonly<Record<string, string>>;
};

/** An object of the place. */
export function workerChild(place: WorkerPlace, draft: WorkerDraft): DesiredObject {
  const { apiVersion, kind, name = place.name, component = "worker", annotations, ...fields } = draft;
  return desiredObject(place.instance, {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace: place.namespace,
      labels: { ...place.labels, [COMPONENT_LABEL]: component },
      annotations: { ...place.annotations, ...annotations },
      ...(place.ownerReferences && { ownerReferences: place.ownerReferences }),
    },
    ...fields,
  });
}
