import type { Finding, LiveDeployment, WorkerState } from "./status-input.ts";

/** `WorkersAvailable`: the Deployment's own `Available`, not that it was made; true at 0 where an autoscaler wakes workers. */
export function workersAvailable(workers: WorkerState | undefined): Finding {
  if (workers === undefined) return { status: "Unknown", reason: "Progressing", message: "nothing is published yet" };
  const { problem, deployment, minimum, access } = workers;
  if (problem !== undefined) return { status: "False", ...problem };
  const finding = deployed(deployment, minimum);
  // Pods that run have their Redis URL already.
  return access !== undefined && finding.status === "False" ? { status: "False", ...access } : finding;
}

function deployed(deployment: LiveDeployment | undefined, minimum: number): Finding {
  if (deployment === undefined) return unavailable("the worker Deployment is not there yet");
  return stalled(deployment) ?? availability(deployment, minimum);
}

/** Kubernetes gives up waiting for a rollout, though not on the Pods (`progressDeadlineSeconds`). */
function stalled({ name, conditions, generation, observedGeneration }: LiveDeployment): Finding | undefined {
  const progressing = conditions.find(({ type }) => type === "Progressing");
  if (progressing?.status !== "False" || observedGeneration < generation) return undefined;
  const message = `Deployment ${name} makes no progress (${progressing.reason ?? "no reason given"}): look at its Pods`;
  return { status: "False", reason: "RolloutStalled", message };
}

function availability({ name, replicas, available, conditions }: LiveDeployment, minimum: number): Finding {
  if (replicas === 0) {
    if (minimum > 0) return unavailable(`Deployment ${name} has 0 replicas: nobody delivers`);
    return { status: "True", reason: "ScaledToZero", message: "no worker runs until there is work" };
  }
  const isTrue = (wanted: string) => conditions.some(({ type, status }) => type === wanted && status === "True");
  if (isTrue("Available") && available > 0) {
    return { status: "True", reason: "Reconciled", message: `Deployment ${name} is available` };
  }
  const remedy = isTrue("ReplicaFailure") ? "no more can be made; look at quotas and admission" : "look at its Pods";
  return unavailable(`Deployment ${name} has ${available} of ${replicas} Pods available: ${remedy}`);
}

function unavailable(message: string): Finding {
  return { status: "False", reason: "WorkersUnavailable", message };
}
