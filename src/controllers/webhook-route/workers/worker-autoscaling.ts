import type { WorkerScope } from "../../../api/names.ts";
import type { DesiredObject } from "../children/desired-object.ts";
import type { Refusal } from "../exposure/host-policy.ts";
import type { Dedicated } from "./worker-sizing.ts";
import { type WorkerPlace, type WorkerRelease, workerChild } from "./worker-place.ts";
import { scalePath } from "./worker-scope.ts";

/** The External metric an HPA asks for, as prometheus-adapter serves it from `davit_queue_events`: see docs/autoscaling.md. */
const HPA_METRIC = "davit_queue_events";

/** Longest value of a label (kubernetes.io/docs, "Labels and Selectors"), and so of a selector over a metric's labels. */
const MAX_LABEL = 63;

type Autoscaling = NonNullable<Dedicated["autoscaling"]>;
type Target = { readonly apiVersion: string; readonly kind: string; readonly name: string };

/**
 * The object that scales workers, if Davit makes one: none for `External`, and none that the API server would refuse
 * (see {@link autoscalingProblem}).
 *
 * KEDA makes an HPA of its own from a ScaledObject and copies our labels to it; a sweep must leave alone what a ScaledObject owns.
 */
export function workerAutoscaler(
  place: WorkerPlace,
  { scope, release, dedicated, hasKeda }: AutoscalingInput,
): readonly DesiredObject[] {
  const autoscaling = dedicated?.autoscaling;
  if (autoscaling === undefined || autoscalingProblem({ scope, dedicated, hasKeda }) !== undefined) return [];
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: place.name };
  if (autoscaling.type === "KEDA") return [scaledObject(place, autoscaling, target, triggerUrl(scope, release))];
  return autoscaling.type === "HPA" && "route" in scope ? [podAutoscaler(place, autoscaling, target, scope.route)] : [];
}

export interface AutoscalingInput {
  readonly scope: WorkerScope;
  readonly release: WorkerRelease;
  readonly dedicated?: Dedicated | undefined;
  readonly hasKeda: boolean;
}

/** What keeps autoscaling from working in this cluster. The workers run; nobody changes their number. */
export function autoscalingProblem({
  scope,
  dedicated,
  hasKeda,
}: Pick<AutoscalingInput, "scope" | "dedicated" | "hasKeda">): Refusal | undefined {
  const type = dedicated?.autoscaling?.type;
  if (type === "KEDA" && !hasKeda) {
    const message =
      "the API server has no ScaledObjects (keda.sh/v1alpha1): install KEDA, or set worker.dedicated.autoscaling.type to HPA or External";
    return { reason: "AutoscalingUnavailable", message };
  }
  if (type === "HPA" && "route" in scope && scope.route.length > MAX_LABEL) {
    const message = `an HPA selects the metric by the route's name, which is longer than the ${MAX_LABEL} characters a selector may have: use KEDA or External, or a shorter name`;
    return { reason: "AutoscalingUnavailable", message };
  }
  return undefined;
}

function triggerUrl(scope: WorkerScope, { namespace, controller }: WorkerRelease): string {
  const { name, port } = controller.service;
  return `http://${name}.${namespace}.svc:${port}${scalePath(scope)}`;
}

/** https://keda.sh/docs/latest/scalers/metrics-api/. One trigger, so that nothing takes the maximum of numbers that belong together. */
function scaledObject(place: WorkerPlace, autoscaling: Autoscaling, target: Target, url: string): DesiredObject {
  const { min = 1, max, targetBacklog = 100 } = autoscaling;
  return workerChild(place, {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    name: autoscalerName(place),
    spec: {
      scaleTargetRef: target,
      minReplicaCount: min,
      maxReplicaCount: max,
      pollingInterval: 15,
      triggers: [
        {
          type: "metrics-api",
          metricType: "AverageValue",
          metadata: {
            url,
            format: "json",
            valueLocation: "value",
            targetValue: `${targetBacklog}`,
            activationTargetValue: "0",
          },
        },
      ],
    },
  });
}

/** CPU says nothing about a queue: workers wait for destinations. */
function podAutoscaler(place: WorkerPlace, autoscaling: Autoscaling, target: Target, route: string): DesiredObject {
  const { min = 1, max, targetBacklog = 100 } = autoscaling;
  return workerChild(place, {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    name: autoscalerName(place),
    spec: {
      scaleTargetRef: target,
      minReplicas: min,
      maxReplicas: max,
      metrics: [
        {
          type: "External",
          external: {
            metric: {
              name: HPA_METRIC,
              selector: {
                matchLabels: { route },
                matchExpressions: [{ key: "state", operator: "In", values: ["active", "waiting"] }],
              },
            },
            target: { type: "AverageValue", averageValue: `${targetBacklog}` },
          },
        },
      ],
    },
  });
}

/** KEDA writes the name of a ScaledObject into a label, so it must not be longer than one. */
function autoscalerName(place: WorkerPlace): string {
  const [label] = Object.values(place.selector);
  return place.name.length <= MAX_LABEL || label === undefined ? place.name : `davit-${label}`;
}
