import type { PolicyObject, RunObject } from "../../api/cleanup-resources.ts";
import type { Live } from "../../kube/objects.ts";
import type { PolicyView, RunView } from "./plan/views.ts";

/** A CleanupPolicy as the plan sees it. */
export function policyView({ metadata, spec, status }: Live<PolicyObject>): PolicyView {
  const { namespace = "", name, uid, generation = 0, creationTimestamp = "" } = metadata;
  return { namespace, name, uid, generation, createdAt: Date.parse(creationTimestamp) || 0, spec, status };
}

/** A CleanupRun as the plan sees it. @param leaseSeenAt see {@link RunView} */
export function runView({ metadata, spec, status }: Live<RunObject>, leaseSeenAt: number | undefined): RunView {
  const { name, uid, generation, creationTimestamp = "" } = metadata;
  return { name, uid, generation, createdAt: Date.parse(creationTimestamp) || 0, spec, status, leaseSeenAt };
}

/** Key of the policy that a run names, whether there is one or not: `namespace/name`. */
export function policyKeyOf({ metadata, spec }: Live<RunObject>): string {
  return `${metadata.namespace}/${spec.policyRef.name}`;
}
