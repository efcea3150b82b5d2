import type { CleanupPolicy } from "../../api/generated/cleanup-policy.ts";
import type { CleanupRun } from "../../api/generated/cleanup-run.ts";
import { API_VERSION } from "../../api/names.ts";
import type { KubeObject, Live } from "../../kube/objects.ts";
import type { ResourceType } from "../../kube/resource-type.ts";
import type { PolicyView, RunView } from "./plan/views.ts";

/** A CleanupPolicy as the API server has it. Its spec passed the schema of the CRD that is installed, not more. */
export type PolicyObject = KubeObject & Pick<CleanupPolicy, "spec" | "status">;
/** A CleanupRun as the API server has it. */
export type RunObject = KubeObject & Pick<CleanupRun, "spec" | "status">;

const [group = "", version = ""] = API_VERSION.split("/");

export const CLEANUP_POLICIES: ResourceType<PolicyObject> = {
  group,
  version,
  kind: "CleanupPolicy",
  plural: "cleanuppolicies",
  namespaced: true,
};

export const CLEANUP_RUNS: ResourceType<RunObject> = {
  group,
  version,
  kind: "CleanupRun",
  plural: "cleanupruns",
  namespaced: true,
};

export function policyView({ metadata, spec, status }: Live<PolicyObject>): PolicyView {
  const { namespace = "", name, uid, generation = 0, creationTimestamp = "" } = metadata;
  return { namespace, name, uid, generation, createdAt: Date.parse(creationTimestamp) || 0, spec, status };
}

/** @param leaseSeenAt see {@link RunView} */
export function runView({ metadata, spec, status }: Live<RunObject>, leaseSeenAt: number | undefined): RunView {
  const { name, uid, generation, creationTimestamp = "" } = metadata;
  return { name, uid, generation, createdAt: Date.parse(creationTimestamp) || 0, spec, status, leaseSeenAt };
}

/** Key of the policy that a run names, whether there is one or not: `namespace/name`. */
export function policyKeyOf({ metadata, spec }: Live<RunObject>): string {
  return `${metadata.namespace}/${spec.policyRef.name}`;
}
