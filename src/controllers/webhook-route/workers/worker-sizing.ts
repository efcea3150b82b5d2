import type { WebhookRouteSpec } from "../../../api/generated/webhook-route.ts";
import type { WorkerScope } from "../../../api/names.ts";
import type { WantedReplicas } from "./replica-plan.ts";
import type { WorkerRelease } from "./worker-place.ts";

/** `spec.worker.dedicated` with its defaults, of `resolveSpec`. */
export type Dedicated = NonNullable<NonNullable<WebhookRouteSpec["worker"]>["dedicated"]>;

type Quantities = Readonly<Record<string, string | number>>;

/** Size of workers. */
export interface WorkerSizing {
  readonly wanted: WantedReplicas;
  /** Fewest replicas with which work is done: 0 only if KEDA wakes them. */
  readonly minimum: 0 | 1;
  /** Whether there may be two Pods at a time. */
  readonly mayBeSeveral: boolean;
  readonly concurrency: number;
  /** Of the container, quantities as they are written. */
  readonly resources: { readonly requests?: Quantities | undefined; readonly limits?: Quantities | undefined };
}

/** Size of a scope's workers: shared ones by the release's config for their namespace, dedicated ones by their route before that. */
export function workerSizing(
  scope: WorkerScope,
  release: Pick<WorkerRelease, "workers">,
  dedicated: Dedicated | undefined,
): WorkerSizing {
  const { replicas, concurrency, resources } = sharedSize(scope, release);
  if (dedicated === undefined) return { ...fixedSize(replicas), concurrency, resources };
  const { autoscaling } = dedicated;
  return {
    ...(autoscaling === undefined ? fixedSize(dedicated.replicas ?? 1) : autoscaledSize(autoscaling)),
    concurrency: dedicated.concurrency ?? 500,
    resources: dedicated.resources ?? resources,
  };
}

function sharedSize({ namespace }: WorkerScope, { workers }: Pick<WorkerRelease, "workers">) {
  const { defaults, namespaces } = workers;
  const { replicas, concurrency, resources } = namespaces[namespace] ?? {};
  return {
    replicas: replicas ?? defaults.replicas,
    concurrency: concurrency ?? defaults.concurrency,
    resources: resources ?? defaults.resources ?? {},
  };
}

type Numbers = Pick<WorkerSizing, "wanted" | "minimum" | "mayBeSeveral">;

function fixedSize(replicas: number): Numbers {
  return { wanted: { type: "fixed", replicas }, minimum: 1, mayBeSeveral: replicas > 1 };
}

function autoscaledSize({ type, min, max = 1 }: NonNullable<Dedicated["autoscaling"]>): Numbers {
  return {
    wanted: { type: "autoscaled" },
    minimum: type === "KEDA" && min === 0 ? 0 : 1,
    mayBeSeveral: type === "External" || max > 1,
  };
}
