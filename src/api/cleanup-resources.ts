import type { KubeObject } from "../kube/objects.ts";
import type { ResourceType } from "../kube/resource-type.ts";
import { CLEANUP_POLICY_LABEL } from "./cleanup-run.ts";
import type { CleanupPolicy } from "./generated/cleanup-policy.ts";
import type { CleanupRun } from "./generated/cleanup-run.ts";
import { API_VERSION } from "./names.ts";

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

/** Most characters of a label's value (kubernetes.io/docs, "Labels and Selectors"). */
const MAX_LABEL = 63;

/** Labels of a run of a policy: its name, cut, and with a letter or digit at its end. */
export function cleanupRunLabels(policy: string): Readonly<Record<string, string>> {
  return { [CLEANUP_POLICY_LABEL]: policy.slice(0, MAX_LABEL).replace(/[.-]+$/, "") };
}
