import type { WorkerScope } from "../../../api/names.ts";
import type { DesiredObject } from "../children/desired-object.ts";
import type { ReplicaPlan } from "./replica-plan.ts";
import { workerAutoscaler } from "./worker-autoscaling.ts";
import { type WorkerTold, workerConfigFile, workerConfigSecrets } from "./worker-config-secrets.ts";
import { workerDeployment } from "./worker-deployment.ts";
import { type WorkerPlace, type WorkerRelease, workerChild, workerPlace } from "./worker-place.ts";
import { policiesOf, workerRbac } from "./worker-rbac.ts";
import { type Dedicated, workerSizing } from "./worker-sizing.ts";

export interface WorkerInput extends WorkerTold {
  readonly scope: WorkerScope;
  readonly release: WorkerRelease;
  /** Only with a scope of one route. */
  readonly dedicated?: Dedicated | undefined;
  /** UID of the WebhookRoute, owner of the children in its namespace. Only with a scope of one route. */
  readonly ownerUid?: string | undefined;
  /** Of `replicaPlan` for `workerSizing().wanted`. */
  readonly replicas: ReplicaPlan;
  /** Secrets that `dedicated.env` must not use: of `deniedSecrets()`. Default: none. */
  readonly deniedSecrets?: ReadonlySet<string>;
  /** Whether the API server knows KEDA's ScaledObject. */
  readonly hasKeda: boolean;
}

/**
 * Everything that runs the workers of one scope, in the order in which it must be applied: rights and config before the Pods that need them.
 * Pure; equal input gives equal bytes.
 */
export function workerObjects(input: WorkerInput): readonly DesiredObject[] {
  const { scope, release, dedicated, replicas } = input;
  const place = workerPlace(scope, release, input.ownerUid);
  const sizing = workerSizing(scope, release, dedicated);
  const file = workerConfigFile(scope, place, release, sizing.concurrency);
  const secrets = workerConfigSecrets(scope, place, input, file);
  const secretNames = secrets.map(({ metadata }) => metadata.name).toReversed();
  return [
    ...workerRbac(place, secretNames, { namespace: scope.namespace, policies: policiesOf(input.routes) }),
    ...secrets,
    workerDeployment(place, {
      release,
      dedicated,
      sizing,
      replicas,
      file,
      deniedSecrets: input.deniedSecrets ?? new Set(),
    }),
    ...(sizing.mayBeSeveral ? [disruptionBudget(place)] : []),
    ...workerAutoscaler(place, input),
  ];
}

/** A Pod that is not ready does no work, so it never stands in the way of draining its node. */
function disruptionBudget(place: WorkerPlace): DesiredObject {
  return workerChild(place, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    spec: { maxUnavailable: 1, selector: { matchLabels: place.selector }, unhealthyPodEvictionPolicy: "AlwaysAllow" },
  });
}
