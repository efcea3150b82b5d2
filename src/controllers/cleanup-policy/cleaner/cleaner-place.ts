import {
  API_VERSION,
  cleanerName,
  COMPONENT_LABEL,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
} from "../../../api/names.ts";
import type { OwnerReference } from "../../../kube/objects.ts";
import { shortHash } from "../../../lib/hash.ts";
import { type DesiredObject, desiredObject } from "../../webhook-route/children/desired-object.ts";

/** Value of the component label of everything that a cleaner is made of. */
export const CLEANER = "cleaner";
/** 16 hex digits that select the Pods of one cleaner. */
export const CLEANER_LABEL = "davit.dev/cleaner";
/** `namespace/name` of the CleanupPolicy that an object was made for; too long for a label. */
export const POLICY_ANNOTATION = "davit.dev/cleanup-policy";

/** Where the objects of a policy's cleaner lie, and what they have in common. */
export interface CleanerPlace {
  readonly instance: string;
  readonly namespace: string;
  /** Of the Deployment, ServiceAccount, Role and RoleBinding. */
  readonly name: string;
  readonly policy: string;
  /** Selects the Pods. */
  readonly selector: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly ownerReferences: readonly OwnerReference[];
}

/** The place of a policy's cleaner. None of the policy's labels: Argo CD would take the children for its application's and prune them. */
export function cleanerPlace(
  instance: string,
  { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
): CleanerPlace {
  const selector = { [CLEANER_LABEL]: shortHash(instance, namespace, name) };
  return {
    instance,
    namespace,
    name: cleanerName(instance, name),
    policy: name,
    selector,
    labels: {
      "app.kubernetes.io/name": "davit",
      "app.kubernetes.io/component": CLEANER,
      [COMPONENT_LABEL]: CLEANER,
      ...selector,
      // On Pods too, for NetworkPolicies of whoever wants some.
      [MANAGED_BY_LABEL]: MANAGED_BY,
      [INSTANCE_LABEL]: instance,
    },
    ownerReferences: [{ apiVersion: API_VERSION, kind: "CleanupPolicy", name, uid, controller: true }],
  };
}

/** An object of the place. */
export function cleanerChild(
  place: CleanerPlace,
  draft: { readonly apiVersion: string; readonly kind: string; readonly [field: string]: unknown },
): DesiredObject {
  const { name, namespace, labels, ownerReferences, instance, policy } = place;
  const annotations = { [POLICY_ANNOTATION]: `${namespace}/${policy}` };
  return desiredObject(instance, { ...draft, metadata: { name, namespace, labels, annotations, ownerReferences } });
}
