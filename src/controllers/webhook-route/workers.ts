import type { WorkerScope } from "../../api/names.ts";
import type { WebhookRouteSpec } from "../../api/generated/webhook-route.ts";
import type { Config } from "../../config/schema.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import type { DesiredObject } from "./desired-object.ts";
import type { ReplicaPlan } from "./replica-plan.ts";

/** `spec.worker.dedicated` with its defaults, of `resolveSpec`. */
export type Dedicated = NonNullable<NonNullable<WebhookRouteSpec["worker"]>["dedicated"]>;

/** What workers take from the release's config. */
export type WorkerRelease = Pick<Config, "release" | "instance" | "namespace" | "logLevel" | "redis" | "workers"> & {
  /** Service of the controllers, which tell autoscalers the backlog. */
  readonly controllerService: { readonly name: string; readonly port: number };
};

export interface WorkerInput {
  readonly scope: WorkerScope;
  readonly release: WorkerRelease;
  /** Entries that these workers deliver, with signing keys. */
  readonly routes: readonly RouteEntry[];
  /** Only with a scope of one route. */
  readonly dedicated?: Dedicated;
  /** UID of the WebhookRoute, owner of the children in its namespace. Only with a scope of one route. */
  readonly ownerUid?: string;
  readonly replicas: ReplicaPlan;
  /** Whether the API server knows KEDA's ScaledObject. */
  readonly hasKeda: boolean;
}

/**
 * Everything that runs the workers of one scope, in the order in which it must be applied: rights and config before the Pods that need them.
 * Pure; equal input gives equal bytes.
 */
export function workerObjects(_input: WorkerInput): readonly DesiredObject[] {
  return [];
}
