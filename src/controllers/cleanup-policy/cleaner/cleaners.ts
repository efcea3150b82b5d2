import type { CleanupPolicySpec } from "../../../api/generated/cleanup-policy.ts";
import { COMPONENT_LABEL } from "../../../api/names.ts";
import type { Deployment } from "../../../kube/core-types.ts";
import type { KubeObject, Live } from "../../../kube/objects.ts";
import type { ChildKind } from "../../webhook-route/children/child-kinds.ts";
import type { DesiredObject } from "../../webhook-route/children/desired-object.ts";
import type { Refusal } from "../../webhook-route/exposure/host-policy.ts";
import type { Operator } from "../../webhook-route/operator.ts";
import type { PolicyView } from "../plan/views.ts";
import { CLEANER, cleanerPlace, POLICY_ANNOTATION } from "./cleaner-place.ts";
import { cleanerDeployment, type CleanerRelease } from "./cleaner-deployment.ts";
import { cleanerRbac } from "./cleaner-rbac.ts";

/** Kinds of which a cleaner has objects. */
export const CLEANER_KINDS: readonly ChildKind[] = ["ServiceAccount", "Role", "RoleBinding", "Deployment"];

/** Everything that carries out the runs of a policy, in the order in which it must be applied: rights before the Pod that needs them. Pure. */
export function cleanerObjects(
  policy: Pick<PolicyView, "namespace" | "name" | "uid"> & { readonly spec: CleanupPolicySpec },
  release: CleanerRelease,
  replicas: 0 | 1,
): readonly DesiredObject[] {
  const place = cleanerPlace(release.instance, policy);
  return [
    ...cleanerRbac(place, policy.spec.cleaner?.serviceAccountName),
    cleanerDeployment(place, release, policy.spec, replicas),
  ];
}

/** Key of the policy that an object was made for, when it is a cleaner's. */
export function cleanerPolicy({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[COMPONENT_LABEL] === CLEANER ? metadata.annotations?.[POLICY_ANNOTATION] : undefined;
}

/** The cleaners of policies, as they are and as they should be. */
export class Cleaners {
  readonly #operator: Pick<Operator, "children" | "config">;

  constructor(operator: Pick<Operator, "children" | "config">) {
    this.#operator = operator;
  }

  /** Whether what is known of a namespace's cleaners is complete. */
  state(namespace: string): ReturnType<Operator["children"]["state"]> {
    return this.#operator.children.state(namespace, CLEANER_KINDS);
  }

  /** Whether a policy has one now. */
  isThere(policy: PolicyView): boolean {
    return (this.#deployment(policy)?.spec?.replicas ?? 0) > 0;
  }

  /** What keeps a cleaner from running, as its Deployment says; a rollout that just takes its time is no problem yet. */
  problem(policy: PolicyView): Refusal | undefined {
    const deployment = this.#deployment(policy);
    if (deployment === undefined || (deployment.spec?.replicas ?? 0) === 0) return undefined;
    const { conditions = [] } = deployment.status ?? {};
    const stalled = conditions.find(({ type, status, reason }) => {
      if (type === "Progressing") return status === "False" || reason === "ProgressDeadlineExceeded";
      return type === "ReplicaFailure" && status === "True";
    });
    if (stalled === undefined) return undefined;
    const { name, namespace } = deployment.metadata;
    const message = `the Pod of Deployment ${name} does not start: kubectl describe pods --namespace ${namespace} --selector davit.dev/component=cleaner`;
    return { reason: "RolloutStalled", message };
  }

  /** Makes a policy's cleaner so. */
  async ensure(policy: PolicyView, replicas: 0 | 1, signal: AbortSignal): Promise<void> {
    const { children, config } = this.#operator;
    const desired = cleanerObjects(policy, config, replicas);
    for (const object of desired) await children.ensure(object, signal);
    const wanted = new Set(desired.map(({ kind }) => kind));
    const { name, namespace } = cleanerPlace(config.instance, policy);
    for (const kind of CLEANER_KINDS) {
      const left = wanted.has(kind) ? undefined : children.get(kind, namespace, name);
      if (left !== undefined) await children.remove(kind, left, signal);
    }
  }

  #deployment(policy: PolicyView): Live<Deployment> | undefined {
    const { name, namespace } = cleanerPlace(this.#operator.config.instance, policy);
    return this.#operator.children.get("Deployment", namespace, name);
  }
}
