import {
  COMPONENT_LABEL,
  destinationsNamespace,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  routesNamespace,
} from "../../../api/names.ts";
import type { Config } from "../../../config/schema.ts";
import {
  LEASES,
  type Lease,
  NAMESPACES,
  type Namespace,
  type Pod,
  PODS,
  SECRETS,
  type Secret,
} from "../../../kube/core-types.ts";
import type { KubeObject, Live } from "../../../kube/objects.ts";
import { slim } from "../../../kube/objects.ts";
import { OptionalReflector } from "../../../kube/optional-reflector.ts";
import { Reflector, type ReflectorOptions } from "../../../kube/reflector.ts";
import type { KubeTransport } from "../../../kube/transport.ts";
import type { Logger } from "../../../observability/logger.ts";
import type { Metrics } from "../../../observability/metrics.ts";
import { type DestinationObject, WEBHOOK_DESTINATIONS } from "../../webhook-destination/destination-types.ts";
import { type DestinationSecret, readDestinationSecret } from "../../webhook-destination/publications.ts";
import { CHILD_WATCHES, type ChildKind, type ChildWatch } from "../children/child-kinds.ts";
import type { ChildCache } from "../children/children.ts";
import { KindCache, type Source } from "./kind-cache.ts";
import { type EntrySecret, readEntrySecret } from "../publishing/publications.ts";
import { readRingSecret, type RingSecret } from "../publishing/rings.ts";
import type { RouteObject } from "./route-index.ts";
import { WEBHOOK_ROUTES } from "../route-types.ts";
import { type SecretMetadata, TENANT_SECRETS_SELECTOR } from "../publishing/tenant-secrets.ts";

/** A Secret of Davit's own in the cache: read once, without its bytes. */
export interface Parsed<T> extends KubeObject {
  readonly parsed: T;
}

/** Everything that the controllers watch. */
export interface Watches {
  readonly routes: Reflector<RouteObject>;
  readonly namespaces: Reflector<Namespace>;
  readonly entries: Reflector<Parsed<EntrySecret>>;
  readonly destinations: Reflector<DestinationObject>;
  readonly destinationEntries: Reflector<Parsed<DestinationSecret>>;
  /** Gateway Pods of the release, and their serving Leases. */
  readonly pods: Reflector<Pod>;
  readonly leases: Reflector<Lease>;
  readonly rings: KindCache<Parsed<RingSecret>>;
  readonly tenantSecrets: KindCache<SecretMetadata>;
  readonly children: ReadonlyMap<ChildKind, ChildCache>;
}

export interface WatchesOptions {
  readonly config: Config;
  readonly transport: KubeTransport;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** The server's data was restored from a backup: see `ReflectorOptions`. */
  readonly onRestored: (resource: string) => void;
}

/** What is to be watched; the rest of the options is the same for all. */
export type Reflecting<T extends KubeObject> = Omit<
  ReflectorOptions<T>,
  "transport" | "metrics" | "onError" | "onRefusal" | "onRestored"
>;

/** Prepares all watches; none has begun yet. */
export function createWatches(options: WatchesOptions): Watches {
  const { config } = options;
  const reflect = <T extends KubeObject>(what: Reflecting<T>) => new Reflector(reflectorOptions(options, what));
  const { instance, namespace } = config;
  const ours = labels({ [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: instance });
  const scope = config.rbac.scope;
  return {
    routes: reflect({ type: WEBHOOK_ROUTES }),
    namespaces: reflect({ type: NAMESPACES, metadataOnly: true, transform: namesAndLabels }),
    entries: reflect<Parsed<EntrySecret>>({
      type: SECRETS as typeof SECRETS & { readonly kind: string },
      namespace: routesNamespace(config.release),
      labelSelector: `${ours},${COMPONENT_LABEL}=entry`,
      transform: (secret) => parsed(secret, readEntrySecret(secret as unknown as Live<Secret>)),
    } as Reflecting<Parsed<EntrySecret>>),
    destinations: reflect({ type: WEBHOOK_DESTINATIONS }),
    destinationEntries: reflect<Parsed<DestinationSecret>>({
      type: SECRETS as typeof SECRETS & { readonly kind: string },
      namespace: destinationsNamespace(config.release),
      labelSelector: `${ours},${COMPONENT_LABEL}=destination`,
      transform: (secret) => parsed(secret, readDestinationSecret(secret as unknown as Live<Secret>, instance)),
    } as Reflecting<Parsed<DestinationSecret>>),
    pods: reflect({
      type: PODS,
      namespace,
      labelSelector: labels({ "app.kubernetes.io/component": "gateway", "app.kubernetes.io/instance": config.release }),
      transform: withoutSpec,
    }),
    leases: reflect({ type: LEASES, namespace, labelSelector: `${ours},${COMPONENT_LABEL}=serving` }),
    rings: new KindCache({
      scope,
      open: (place) =>
        reflect({
          type: SECRETS,
          namespace: place,
          labelSelector: `${ours},${COMPONENT_LABEL}=ring`,
          transform: (secret: Live) => parsed(secret, readRingSecret(secret as unknown as Live<Secret>)),
        } as unknown as Reflecting<Parsed<RingSecret>>),
    }),
    tenantSecrets: new KindCache<SecretMetadata>({
      scope: "Namespaces",
      open: (place) =>
        reflect<SecretMetadata>({
          type: SECRETS,
          namespace: place,
          fieldSelector: TENANT_SECRETS_SELECTOR,
          metadataOnly: true,
          transform: namesAndLabels,
        }),
    }),
    children: new Map(
      Object.entries(CHILD_WATCHES).map(([kind, watch]) => [kind as ChildKind, childCache(options, watch, ours)]),
    ),
  };
}

function childCache(options: WatchesOptions, watch: ChildWatch, ours: string): ChildCache {
  const { type, isOptional, isReleaseOnly, labelSelector } = watch;
  const { config } = options;
  const opened: OptionalReflector<KubeObject>[] = [];
  const open = (place: string | undefined): Source<KubeObject> => {
    const namespace = isReleaseOnly === true ? config.namespace : place;
    const what = { type, namespace, labelSelector: labelSelector === undefined ? ours : `${ours},${labelSelector}` };
    const full = reflectorOptions<KubeObject>(options, what);
    if (isOptional !== true) return new Reflector(full);
    const optional = new OptionalReflector(full);
    opened.push(optional);
    return optionalSource(optional);
  };
  const isAvailable = () => isOptional !== true || opened.some(({ available }) => available);
  // One watch of the release's namespace is all there is to see then.
  const scope = isReleaseOnly === true ? "Cluster" : config.rbac.scope;
  return { type, isAvailable, cache: new KindCache({ scope, open }) };
}

/** A kind that is not served is complete without any object. */
function optionalSource(optional: OptionalReflector<KubeObject>): Source<KubeObject> {
  const { reflector } = optional;
  return {
    store: reflector.store,
    get hasSynced() {
      return optional.settled;
    },
    get refusal() {
      return optional.available ? reflector.refusal : undefined;
    },
    get lastContact() {
      return optional.available ? reflector.lastContact : Number.POSITIVE_INFINITY;
    },
    onChange: (handler) => reflector.onChange(handler),
    run: (signal) => optional.run(signal),
    relist: () => (optional.available ? reflector.relist() : Promise.resolve(undefined)),
  };
}

/** Options of a watch: what goes wrong with it is logged. */
export function reflectorOptions<T extends KubeObject>(
  { transport, metrics, logger, onRestored }: WatchesOptions,
  what: Reflecting<T>,
): ReflectorOptions<T> {
  const { kind } = what.type;
  const place = what.namespace ?? "all namespaces";
  return {
    ...what,
    transport,
    metrics,
    onRestored: () => onRestored(what.type.plural),
    onError: (error) => logger.debug({ kind, namespace: place, err: error }, "a watch failed and is tried again"),
    onRefusal: (refusal, error) => {
      if (refusal === undefined) logger.info({ kind, namespace: place }, "the API server lets us look again");
      else logger.error({ kind, namespace: place, refusal }, error?.message ?? "the API server does not let us look");
    },
  };
}

function parsed<T>({ apiVersion, kind, metadata }: Live, value: T): Live<Parsed<T>> {
  return {
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
    metadata: slim({ metadata }).metadata,
    parsed: value,
  };
}

/** Enough to know that an object is there, and in which version. */
function namesAndLabels<T extends KubeObject>(object: Live<T>): Live<T> {
  const { name, namespace, uid, resourceVersion, labels: own, deletionTimestamp } = object.metadata;
  const metadata = {
    name,
    uid,
    resourceVersion,
    ...(namespace !== undefined && { namespace }),
    ...(own !== undefined && { labels: own }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  };
  return { metadata } as Live<T>;
}

function withoutSpec(pod: Live<Pod>): Live<Pod> {
  const { metadata, status } = slim(pod);
  const conditions = status?.conditions;
  return { metadata, ...(conditions && { status: { conditions } }) };
}

function labels(wanted: Readonly<Record<string, string>>): string {
  return Object.entries(wanted)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}
