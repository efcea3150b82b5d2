import type { WorkerScope } from "../../../api/names.ts";
import type { Deployment } from "../../../kube/core-types.ts";
import type { Live } from "../../../kube/objects.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import type { Unresolved } from "../../../routes/observed-keys.ts";
import type { Refusal } from "../exposure/host-policy.ts";
import { WORKER_KINDS } from "../children/child-kinds.ts";
import type { Operator } from "../operator.ts";
import type { RouteObject } from "../watching/route-index.ts";
import type { LiveDeployment, WorkerState } from "../status/status-input.ts";
import { redisProblem } from "../custody/redis-problem.ts";
import { autoscalingProblem } from "./worker-autoscaling.ts";
import { workerPlace } from "./worker-place.ts";
import { unresolvedEnv } from "./worker-refusals.ts";
import { scopeOfRoute } from "./worker-scope.ts";
import { type Dedicated, workerSizing } from "./worker-sizing.ts";

/** What `spec.worker.dedicated` says, for a scope of one route. */
export function dedicatedOf(route: Pick<RouteObject, "spec"> | undefined): Dedicated | undefined {
  return route?.spec.worker?.dedicated;
}

/** The workers of a served route, as they are. */
export function workerState(operator: Operator, route: Live<RouteObject>, entry: RouteEntry): WorkerState {
  const { config, children } = operator;
  const scope = scopeOfRoute(entry);
  const dedicated = "route" in scope ? dedicatedOf(route) : undefined;
  const place = workerPlace(scope, config);
  const live = children.get("Deployment", place.namespace, place.name);
  const problem = workerProblem(operator, scope, route);
  const access = redisProblem(operator, place.namespace);
  return {
    deployment: live === undefined ? undefined : liveDeployment(live),
    minimum: workerSizing(scope, config, dedicated).minimum,
    ...(problem === undefined ? {} : { problem }),
    ...(access === undefined ? {} : { access }),
  };
}

/** What keeps workers from being made or scaled. */
function workerProblem(operator: Operator, scope: WorkerScope, route: Live<RouteObject>): Refusal | undefined {
  if (operator.children.state(workerPlace(scope, operator.config).namespace, WORKER_KINDS) === "Refused") {
    return { reason: "WorkersUnavailable", message: "Davit may not see the objects of this namespace" };
  }
  const [unresolved] = unresolvedVariables(operator, route);
  if (unresolved !== undefined) return { reason: unresolved.reason, message: unresolved.message };
  const hasKeda = operator.children.isAvailable("ScaledObject");
  return autoscalingProblem({ scope, dedicated: dedicatedOf(route), hasKeda });
}

/** Variables of a dedicated worker's Pods that come from Secrets which are not there, or which nobody has permitted to be used. */
export function unresolvedVariables(operator: Operator, route: Live<RouteObject>): readonly Unresolved[] {
  return unresolvedEnv(dedicatedOf(route), (name) => operator.secrets.labelsOf(route.metadata.namespace ?? "", name));
}

function liveDeployment({ metadata, spec, status }: Live<Deployment>): LiveDeployment {
  return {
    name: metadata.name,
    generation: metadata.generation ?? 0,
    observedGeneration: status?.observedGeneration ?? 0,
    replicas: spec?.replicas ?? 1,
    available: status?.availableReplicas ?? 0,
    conditions: status?.conditions ?? [],
  };
}
