import type { Config } from "../../config/schema.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Namespace } from "../../kube/core-types.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject, Live } from "../../kube/objects.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../observability/logger.ts";
import type { DestinationSide } from "../webhook-destination/destination-side.ts";
import type { Children } from "./children/children.ts";
import type { GatewayObservations } from "./observing/gateway-observations.ts";
import type { KindCache } from "./watching/kind-cache.ts";
import type { Publications } from "./publishing/publications.ts";
import type { RoutePublisher } from "./publishing/route-publisher.ts";
import type { RedisAccess } from "./custody/redis-access.ts";
import type { SigningRings } from "./publishing/rings.ts";
import type { RouteIndex } from "./watching/route-index.ts";
import type { ServingGateways } from "./publishing/serving.ts";
import type { RouteStatusInput } from "./status/status-input.ts";
import type { TenantSecrets } from "./publishing/tenant-secrets.ts";

/** Queues the keys of the controllers. */
export interface Enqueue {
  /** `namespace/name` of a route. */
  route(key: string): void;
  /** `namespace/name` of a WebhookDestination. */
  destination(key: string): void;
  /** `scopeKey` of workers. */
  workers(key: string): void;
  /** `hostKey` of an entry of `gateway.hosts`. */
  host(key: string): void;
  /** A namespace whose shelves are to be looked at. */
  shelves(namespace: string): void;
  /** A namespace whose user of Redis is to be looked at. */
  access(namespace: string): void;
}

/** What other processes know of a route: all optional, a controller works without. */
export interface Observations {
  /** Backlog, circuits and so on of a route by its key, as far as they are known. */
  of(route: string): Pick<RouteStatusInput, "queue" | "backlog" | "circuits">;
}

/** What the controllers of WebhookRoutes and WebhookDestinations share: what is known of the cluster, and the ways to change it. */
export interface Operator {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Its writes ask the fence of the leader. */
  readonly client: KubeClient;
  readonly events: Pick<EventRecorder, "record">;
  readonly routes: RouteIndex;
  readonly namespace: (name: string) => Live<Namespace> | undefined;
  readonly secrets: TenantSecrets;
  readonly publications: Publications;
  readonly publisher: RoutePublisher;
  readonly destinations: DestinationSide;
  /** CleanupPolicies of this instance, `namespace/name`: their controller, which watches them, keeps it, and queues the routes that name one. */
  readonly cleanupPolicies: Set<string>;
  readonly rings: SigningRings;
  /** The watch of their Secrets. */
  readonly ringWatch: Pick<KindCache<KubeObject>, "want" | "state">;
  readonly gateways: ServingGateways;
  readonly children: Children;
  /** Random bytes of the release, for the ids of keys. */
  readonly releaseKey: () => Buffer;
  readonly enqueue: Enqueue;
  /** Routes that are published and not yet served by every gateway: key → `seq`. */
  readonly unreached: Map<string, number>;
  /** What the API server refused of the objects of a host: `hostKey` → `kind/namespace` → its words. */
  readonly refusedExposures: Map<string, ReadonlyMap<string, string>>;
  readonly observations: Observations;
  /** What the gateways saw of requests. */
  readonly seen: GatewayObservations;
  /** Removes the tickets of workers of one route, by its key, once they are gone. Absent: they stay. */
  readonly retireQueue?: ((namespace: string, route: string) => Promise<void>) | undefined;
  /** Only with Redis users `Provisioned`. */
  readonly redisAccess?: Pick<RedisAccess, "problem"> | undefined;
  /** Released claims whose route's events are on their shelf, or purged. Absent: nothing is shelved. See `isShelved`. */
  readonly shelved?: Set<string> | undefined;
  /** Whether other controllers look at the Secrets of a namespace. Default: none do. */
  readonly otherUsers?: ((namespace: string) => boolean)[] | undefined;
}
