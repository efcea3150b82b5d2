import { entrySecretName, routeKey, type WorkerScope } from "../../../api/names.ts";
import { DEPLOYMENTS } from "../../../kube/core-types.ts";
import { type KubeObject, type Live, refOf } from "../../../kube/objects.ts";
import type { ReconcileResult } from "../../../runtime/reconcile.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import { destinationEntries } from "../../webhook-destination/destination-side.ts";
import { withSigningKeys } from "../../../routes/signing-keys.ts";
import { type ChildKind, WORKER_KINDS } from "../children/child-kinds.ts";
import { childScope } from "../children/child-scope.ts";
import type { DesiredObject } from "../children/desired-object.ts";
import type { CacheState } from "../watching/kind-cache.ts";
import type { Operator } from "../operator.ts";
import { entryIn } from "../publishing/publications.ts";
import { QueueRetirement } from "./queue-retirement.ts";
import { HAND_OVER_MANAGER, handOverPatch, liveReplicas, replicaPlan } from "./replica-plan.ts";
import { type RouteObject, signingRef } from "../watching/route-index.ts";
import { WEBHOOK_ROUTES } from "../route-types.ts";
import { usesDestinations } from "../route/draft.ts";
import { workerPlace } from "./worker-place.ts";
import type { WorkerTold } from "./worker-config-secrets.ts";
import { entryFor, scopeKey, scopeOf } from "./worker-scope.ts";
import { workerSizing } from "./worker-sizing.ts";
import { deniedSecrets, envSecretNames } from "./worker-refusals.ts";
import { dedicatedOf } from "./worker-state.ts";
import { workerObjects } from "./workers.ts";

/** Caches that are not complete yet are looked at again after this long, ms. */
const SYNC_POLL_MS = 200;

/** Kinds of objects beside the namespace of the Pods. */
const RIGHTS: readonly ChildKind[] = ["Role", "RoleBinding"];

/** Makes the workers of one scope so: a namespace's shared ones, or those of a route with `worker.dedicated`. */
export class WorkerReconciler {
  readonly #operator: Operator;
  readonly #queues: QueueRetirement | undefined;

  constructor(operator: Operator) {
    const { retireQueue, clock } = operator;
    this.#operator = operator;
    this.#queues = retireQueue && new QueueRetirement({ retire: retireQueue, now: () => clock.monotonic() });
  }

  /** @param key of `scopeKey` */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const scope = scopeOf(key);
    const home = this.#operator.namespace(scope.namespace);
    if (home?.metadata.deletionTimestamp !== undefined) return {};
    if (this.#isSyncing(scope)) return { requeueAfterMs: SYNC_POLL_MS };
    const state = this.#childState(scope);
    if (state === "Syncing") return { requeueAfterMs: SYNC_POLL_MS };
    // The routes say so, and a watch that works again looks anew.
    if (state === "Refused") return {};
    const routes = this.#routesOf(scope);
    if (routes.length === 0) return this.#remove(scope, signal);
    this.#queues?.present(key);
    const destinations = "route" in scope ? [] : destinationEntries(this.#operator.destinations, scope.namespace);
    // Each of them comes back here when it is compiled.
    if (destinations === undefined) return { requeueAfterMs: SYNC_POLL_MS };
    return this.#apply(scope, { routes, destinations }, signal);
  }

  /** Of the objects, and of rights that workers in the release's namespace have in their routes'. */
  #childState(scope: WorkerScope): CacheState {
    const { children, config } = this.#operator;
    const { namespace } = workerPlace(scope, config);
    const state = children.state(namespace, WORKER_KINDS);
    return state === "Synced" && namespace !== scope.namespace ? children.state(scope.namespace, RIGHTS) : state;
  }

  /** Rings are in the config, and variables may come from Secrets with the label alone. */
  #isSyncing(scope: WorkerScope): boolean {
    const { ringWatch, secrets } = this.#operator;
    if (ringWatch.state(scope.namespace) === "Syncing") return true;
    const hasVariables = envSecretNames(dedicatedOf(this.#routeOf(scope))).length > 0;
    return hasVariables && secrets.state(scope.namespace) === "Syncing";
  }

  async #apply(scope: WorkerScope, told: WorkerTold, signal: AbortSignal): Promise<ReconcileResult> {
    const { children, config, clock } = this.#operator;
    const route = this.#routeOf(scope);
    const dedicated = dedicatedOf(route);
    const place = workerPlace(scope, config, route?.metadata.uid);
    const cached = children.get("Deployment", place.namespace, place.name);
    const { wanted } = workerSizing(scope, config, dedicated);
    const replicas = replicaPlan(liveReplicas(cached), wanted, clock.now());
    if (replicas.handOver !== undefined) await this.#handOver(place, signal);
    const desired = workerObjects({
      scope,
      release: config,
      ...told,
      dedicated,
      ownerUid: route?.metadata.uid,
      replicas,
      hasKeda: children.isAvailable("ScaledObject"),
      deniedSecrets: deniedSecrets(dedicated, (name) => this.#operator.secrets.labelsOf(scope.namespace, name)),
    });
    for (const object of desired) await children.ensure(object, signal);
    await this.#prune(scope, desired, signal);
    return replicas.againInMs === undefined ? {} : { requeueAfterMs: replicas.againInMs };
  }

  /** The number that is live now, not the one of the cache: an autoscaler may just have changed it. */
  async #handOver(
    { namespace, name }: { readonly namespace: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<void> {
    const live = await this.#operator.client.resource(DEPLOYMENTS).find({ namespace, name }, { signal });
    if (live === undefined) return;
    const patch = handOverPatch({ namespace, name }, live.spec?.replicas ?? 1);
    await this.#operator.children.applyAs(HAND_OVER_MANAGER, patch, live, signal);
  }

  /** Workers without routes go, when the API server confirms that there is none. */
  async #remove(scope: WorkerScope, signal: AbortSignal): Promise<ReconcileResult> {
    const children = this.#childrenOf(scope);
    if (this.#isAwaited(scope)) return {};
    if (children.length === 0) return this.#retireQueue(scope);
    if (await this.#mayHaveRoutes(scope, signal)) return { requeueAfterMs: 1_000 };
    for (const { kind, object } of children) await this.#operator.children.remove(kind, object, signal);
    return {};
  }

  /** Tickets of a route's own workers that are gone. Its key is known as long as its namespace is, or its claim. */
  async #retireQueue(scope: WorkerScope): Promise<ReconcileResult> {
    if (!("route" in scope) || this.#queues === undefined) return {};
    const key = scopeKey(scope);
    const { namespace, route: name } = scope;
    const [published] = this.#operator.publications.ofRoute(key);
    const uid = published?.namespaceUid ?? this.#operator.namespace(namespace)?.metadata.uid;
    if (uid === undefined) return {};
    return this.#queues.missing({ key, namespace, route: routeKey(uid, name) });
  }

  /** A route that is not published yet may be about to need these workers, and comes back here when it is. */
  #isAwaited(scope: WorkerScope): boolean {
    const { routes, publications, config } = this.#operator;
    const key = scopeKey(scope);
    return routes.ofNamespace(scope.namespace).some((route) => {
      const { namespace, name } = refOf(route);
      const isPublished =
        entryIn(publications.get(entrySecretName(config.instance, namespace ?? "", name))) !== undefined;
      if (isPublished) return false;
      const object = routes.get(route);
      if (key === scope.namespace) return dedicatedOf(object) === undefined || usesDestinations(object?.spec);
      return key === route && dedicatedOf(object) !== undefined;
    });
  }

  /** Asked of the API server itself: a cache that is wrong must not end anybody's workers. */
  async #mayHaveRoutes(scope: WorkerScope, signal: AbortSignal): Promise<boolean> {
    const { client, routes } = this.#operator;
    const resource = client.resource(WEBHOOK_ROUTES);
    const isUnknown = ({ metadata }: Live<RouteObject>) =>
      routes.get(`${metadata.namespace}/${metadata.name}`) === undefined;
    const isMine = ({ spec }: Live<RouteObject>) => (spec.instance ?? "default") === this.#operator.config.instance;
    if ("route" in scope) {
      const live = await resource.find({ namespace: scope.namespace, name: scope.route }, { signal });
      return live !== undefined && isMine(live) && isUnknown(live);
    }
    const { items } = await resource.list(scope.namespace, { signal });
    return items.some((live) => isMine(live) && isUnknown(live));
  }

  async #prune(scope: WorkerScope, desired: readonly DesiredObject[], signal: AbortSignal): Promise<void> {
    const wanted = new Set(desired.map(placeOf));
    for (const { kind, object } of this.#childrenOf(scope)) {
      if (!wanted.has(placeOf({ kind, metadata: object.metadata })))
        await this.#operator.children.remove(kind, object, signal);
    }
  }

  #childrenOf(scope: WorkerScope): { readonly kind: ChildKind; readonly object: Live }[] {
    const { children, config } = this.#operator;
    const key = scopeKey(scope);
    // Workers that run in the release's namespace may have rights in their routes'.
    const namespaces = new Set([workerPlace(scope, config).namespace, scope.namespace]);
    const all = [...namespaces].flatMap((namespace) => [...children.list(namespace)]);
    return all.filter(({ object }) => childScope(object) === key);
  }

  #routeOf(scope: WorkerScope): Live<RouteObject> | undefined {
    return "route" in scope ? this.#operator.routes.get(`${scope.namespace}/${scope.route}`) : undefined;
  }

  /** Entries of the scope with their signing keys. */
  #routesOf(scope: WorkerScope): RouteEntry[] {
    const { publications, routes, rings } = this.#operator;
    return publications.inNamespace(scope.namespace).flatMap((secret) => {
      const published = entryIn(secret);
      const entry = published && entryFor(scope, published);
      if (entry === undefined) return [];
      const route = routes.get(`${entry.namespace}/${entry.name}`);
      const ref = route === undefined ? undefined : signingRef(route);
      const keys = ref === undefined ? undefined : rings.get({ namespace: entry.namespace, ...ref })?.keys;
      return [keys === undefined ? entry : withSigningKeys(entry, keys)];
    });
  }
}

function placeOf({
  kind,
  metadata: { namespace = "", name },
}: Required<Pick<KubeObject, "kind" | "metadata">>): string {
  return `${kind}/${namespace}/${name}`;
}
