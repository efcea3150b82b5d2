import { shortHash, uuidV5 } from "../lib/hash.ts";
import { isUnicode } from "../lib/unicode.ts";

/** `davit.dev/v1alpha1`. */
export const API_VERSION = "davit.dev/v1alpha1";

/** Label that a Secret needs before a route may use it for anything but verifying what comes in. */
export const USE_LABEL = "davit.dev/use";

/**
 * Route key: 16 hex digits over the namespace's UID and the route's name. A re-created route finds its own events again; a namespace of the
 * same name that was deleted and made anew does not.
 */
export function routeKey(namespaceUid: string, name: string): string {
  return shortHash(namespaceUid, name);
}

/** Id of an inline destination: `<route key>/<name>`. */
export function inlineDestinationId(route: string, name: string): string {
  return `${route}/${name}`;
}

/** Most characters (code points) of a WebhookDestination's `spec.id`. */
const MAX_DESTINATION_ID = 128;

/**
 * Id of a WebhookDestination's copies, lane and metrics: `~` and its `spec.id`, every byte of its UTF-8 but `[A-Za-z0-9._-]` percent-encoded, so that no
 * blank, `/`, `:` or `#` gets into names that are split at them. At most 1,537 characters.
 *
 * @returns `undefined` when no WebhookDestination can have this id: it is empty, longer than {@link MAX_DESTINATION_ID} or no well-formed Unicode
 */
export function destinationId(id: string): string | undefined {
  if (id === "" || !isUnicode(id) || id.length > 2 * MAX_DESTINATION_ID) return undefined;
  if (id.length > MAX_DESTINATION_ID && Array.from(id).length > MAX_DESTINATION_ID) return undefined;
  return `~${encodeURIComponent(id).replace(/[!'()*~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)}`;
}

/** The `spec.id` of a {@link destinationId}; `undefined` for an inline destination and for anything that {@link destinationId} does not give. */
export function idOfDestination(destination: string): string | undefined {
  if (!destination.startsWith("~")) return undefined;
  try {
    const id = decodeURIComponent(destination.slice(1));
    return destinationId(id) === destination ? id : undefined;
  } catch {
    return undefined;
  }
}

/** What a tag is made of: the store writes them as `davit:<instance>:{<namespace>}`. */
export interface TagParts {
  readonly instance: string;
  readonly namespace: string;
}

/** Tag of everything a namespace has in the store. The braces make it one hash slot of a Redis Cluster. */
export function tag({ instance, namespace }: TagParts): string {
  return `davit:${instance}:{${namespace}}`;
}

/** Name of the Secret that holds a route's published entry. */
export function entrySecretName(instance: string, namespace: string, name: string): string {
  return `davit-route-${shortHash(instance, namespace, name)}`;
}

/** Name of the Secret that holds the ring of an outgoing signing key. */
export function signingRingSecretName(instance: string, namespace: string, secret: string, key: string): string {
  return `davit-ring-${shortHash(instance, namespace, secret, key)}`;
}

/** The UID that `davit dev` gives an object, since no API server does: the same on every run. */
export function devUid(instance: string, kind: string, namespace: string, name: string): string {
  return uuidV5(instance, kind, namespace, name);
}

/** Labels on every object that Davit makes. None of the parent's labels is copied: Argo CD would prune the children. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
export const MANAGED_BY = "davit";
/** The release's instance, on every object that Davit makes. */
export const INSTANCE_LABEL = "davit.dev/instance";
/** What an object is for: `entry`, `destination`, `worker`, `worker-config`, `cleaner`, `ingress`, `ring`, `serving`. */
export const COMPONENT_LABEL = "davit.dev/component";
/** 16 hex digits that select the Pods of one worker Deployment. */
export const WORKER_LABEL = "davit.dev/worker";
/** `namespace/name` of the WebhookRoute an object was made for; too long for a label. */
export const ROUTE_ANNOTATION = "davit.dev/route";
/** UID of the route's namespace: a namespace of the same name made anew is another one. */
export const NAMESPACE_UID_ANNOTATION = "davit.dev/namespace-uid";
/** Command: end every previous key at once. An RFC 3339 time; done once, recorded in `status.lastHandled.revokePreviousAt`. */
export const REVOKE_ANNOTATION = "davit.dev/revoke-previous-at";
/** Command on a WebhookDestination: close its gate again. An RFC 3339 time; done once, recorded in `status.lastHandled.enableAt`. */
export const ENABLE_ANNOTATION = "davit.dev/enable-at";
/** On a gateway's serving Lease: the highest `seq` whose publication it has looked at. */
export const SERVED_SEQ_ANNOTATION = "davit.dev/served-seq";
/** On a gateway's serving Lease: JSON object, entry Secret name → `seq` it could not use (it serves an older one). At most 100. */
export const REJECTED_ANNOTATION = "davit.dev/rejected";
/** Type of the Secrets that hold published routes. */
export const ENTRY_SECRET_TYPE = "davit.dev/route";
/** Type of the Secrets that publish WebhookDestinations. */
export const DESTINATION_SECRET_TYPE = "davit.dev/destination";
/** `namespace/name` of the WebhookDestination that a Secret publishes; too long for a label. */
export const DESTINATION_ANNOTATION = "davit.dev/destination";

/** Namespace that the workers of an object deliver for; with Redis users `Shared` it is not the one they lie in. */
export const NAMESPACE_ANNOTATION = "davit.dev/namespace";
/** Short hash of a child as it was applied last: differs when Davit no longer sets a field that the live object still has. */
export const DESIRED_HASH_ANNOTATION = "davit.dev/desired-hash";
/** On worker Pods: short hash of their config file, so that a change starts new ones. */
export const CONFIG_HASH_ANNOTATION = "davit.dev/config-hash";
/** On a worker Deployment, who sets `replicas` as of the last apply: `davit`, `autoscaler` or `stepping <RFC 3339>`. */
export const REPLICAS_ANNOTATION = "davit.dev/replicas";

/** Namespace that holds the published routes of a release and nothing else. */
export function routesNamespace(release: string): string {
  return `${release}-routes`;
}

/** Namespace that holds what the release publishes of WebhookDestinations and nothing else: no keys. */
export function destinationsNamespace(release: string): string {
  return `${release}-destinations`;
}

/** Name of the Secret that publishes a WebhookDestination there. */
export function destinationSecretName(instance: string, namespace: string, name: string): string {
  return `davit-destination-${shortHash(instance, namespace, name)}`;
}

/** Name of the Lease by which one of several controllers leads, in the release's namespace. */
export function leaderLeaseName(instance: string): string {
  return `davit-controller-${instance}`;
}

/** Name of the Lease of a gateway Pod, in the release's namespace. */
export function servingLeaseName(pod: string): string {
  return `davit-serving-${shortHash(pod)}`;
}

/** Which workers: a namespace's shared ones, or those of one route. */
export type WorkerScope = { readonly namespace: string } | { readonly namespace: string; readonly route: string };

/**
 * Name of a worker Deployment, its ServiceAccount, Role and PDB, and start of the names of its config Secrets: `davit-<instance>-shared` or
 * `davit-<instance>-r-<16 hex>`. With `inReleaseNamespace` (Redis users `Shared`) workers of all namespaces lie side by side, so shared ones are
 * `davit-<instance>-ns-<16 hex>`.
 */
export function workerName(instance: string, scope: WorkerScope, inReleaseNamespace = false): string {
  if ("route" in scope) return `davit-${instance}-r-${shortHash(scope.namespace, scope.route)}`;
  return inReleaseNamespace ? `davit-${instance}-ns-${shortHash(scope.namespace)}` : `davit-${instance}-shared`;
}

/** Name of the cleaner of a CleanupPolicy: of its Deployment, ServiceAccount, Role and RoleBinding. */
export function cleanerName(instance: string, policy: string): string {
  return `davit-${instance}-c-${shortHash(policy)}`;
}

/** Value of {@link WORKER_LABEL}: selects the Pods of one worker Deployment, and never changes. */
export function workerLabel(instance: string, scope: WorkerScope): string {
  return "route" in scope ? shortHash(instance, scope.namespace, scope.route) : shortHash(instance, scope.namespace);
}

/** Name of the Secret (key `url`) with which workers of a namespace reach Redis when its users are `Provisioned`. */
export function provisionedRedisSecretName(instance: string): string {
  return `davit-${instance}-redis`;
}

/** Name of the Ingress or HTTPRoute, or of part `n` of several, that exposes an entry of `gateway.hosts`. */
export function exposureName(instance: string, host: string, pathPrefix: string, n = 0): string {
  const name = `davit-${instance}-host-${shortHash(host, pathPrefix)}`;
  return n === 0 ? name : `${name}-${n}`;
}

/** Name of the ReferenceGrant, in the release's namespace, for the HTTPRoutes of one namespace. */
export function referenceGrantName(instance: string, host: string, pathPrefix: string, namespace: string): string {
  return `davit-${instance}-grant-${shortHash(host, pathPrefix, namespace)}`;
}

/** Variables that Davit sets in worker Pods; a route must not. */
export const WORKER_ENV = ["DAVIT_CONFIG", "POD_NAME", "POD_NAMESPACE"] as const;

/** Most config Secrets of one worker Deployment. */
export const MAX_WORKER_CONFIGS = 32;

/** Name of config Secret `n` of a worker. */
export function workerConfigName(worker: string, n: number): string {
  return `${worker}-${n}`;
}
