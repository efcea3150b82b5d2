import { CLEANUP_POLICIES, CLEANUP_RUNS, cleanupRunLabels, type RunObject } from "../api/cleanup-resources.ts";
import { cleanupRunName, isSameRun } from "../api/cleanup-run.ts";
import type { CleanupRunSpec } from "../api/generated/cleanup-run.ts";
import type { RunStart, RunStarted } from "../api/run-start.ts";
import type { KubeClient } from "../kube/client.ts";
import { isAlreadyExists } from "../kube/errors.ts";

export interface RunStarterOptions {
  readonly client: Pick<KubeClient, "resource">;
  /** Policies of other releases are none. */
  readonly instance: string;
}

/**
 * Makes the CleanupRuns that pushes ask for: delivery's `RunStarter` in a cluster. The name is made of the policy's UID and the run's id, so the API server
 * itself keeps an id from becoming two runs. The policy is read anew each time: a UID of before would make a run that its policy then refuses for good.
 *
 * @throws KubeApiError, KubeConnectionError, KubeConfigError: it is not known whether there is a run now
 */
export function kubeRunStarter({ client, instance }: RunStarterOptions) {
  const policies = client.resource(CLEANUP_POLICIES);
  const runs = client.resource(CLEANUP_RUNS);
  return async (start: RunStart, signal: AbortSignal): Promise<RunStarted> => {
    const { namespace, policy: name } = start;
    const policy = await policies.find({ namespace, name }, { signal });
    if (policy === undefined || (policy.spec.instance ?? "default") !== instance) return "noPolicy";
    const wanted = runOf(start, { instance, uid: policy.metadata.uid });
    try {
      await runs.create(wanted, { signal });
      return "created";
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const existing = await runs.get(wanted.metadata, { signal });
    return isSameRun(existing.spec, wanted.spec) ? "exists" : "conflict";
  };
}

function runOf(start: RunStart, { instance, uid }: { readonly instance: string; readonly uid: string }): RunObject {
  const { namespace, policy, runId, scope, cutoff, receivedAt, eventId } = start;
  const spec: CleanupRunSpec = {
    instance,
    policyRef: { name: policy, uid },
    runId,
    scope,
    cutoff: new Date(cutoff).toISOString(),
    trigger: "Push",
    receivedAt: new Date(receivedAt).toISOString(),
    eventId,
  };
  const name = cleanupRunName({ name: policy, uid }, runId);
  return { metadata: { namespace, name, labels: cleanupRunLabels(policy) }, spec };
}
