import { provisionedRedisSecretName } from "../../../api/names.ts";
import type { Deployment } from "../../../kube/core-types.ts";
import type { Change } from "../../../kube/object-cache.ts";
import { keyOf, type KubeObject, type Live, refOf } from "../../../kube/objects.ts";
import { connectDestinations, forgetIfUnused } from "../../webhook-destination/watches.ts";
import { childScope } from "../children/child-scope.ts";
import type { ChildKind } from "../children/child-kinds.ts";
import { changedPaths } from "../exposure/exposed-places.ts";
import { exposedHosts } from "../exposure/host-reconciler.ts";
import { hostKey } from "../exposure/ingress.ts";
import type { Operator } from "../operator.ts";
import { claimIn, type EntrySecret, entryIn, namespaceOf, placeKey } from "../publishing/publications.ts";
import { isNews } from "./news.ts";
import { releaseSecrets } from "./release-secrets.ts";
import { type RouteObject, secretNames, signingRef } from "./route-index.ts";
import type { Watches } from "./watches.ts";
import { scopeKey, scopeOf, scopesOfRoute } from "../workers/worker-scope.ts";

/** A gateway that has said nothing for this long is not waited for, ms. */
const SILENT_MS = 30_000;

/** Feeds the operator's knowledge from the watches, and queues whatever a change may concern. */
export function connectWatches(watches: Watches, operator: Operator): void {
  connectRoutes(watches, operator);
  connectNamespaces(watches, operator);
  connectEntries(watches, operator);
  connectDestinations(watches, operator);
  connectRings(watches, operator);
  connectGateways(watches, operator);
  watches.tenantSecrets.onChange(({ key }) => onTenantSecret(operator, key));
  operator.children.onChange((kind, change) => onChild(operator, kind, change));
}

function connectRoutes(watches: Watches, operator: Operator): void {
  watches.routes.onChange(({ key, next, previous }) => {
    if (next !== undefined && (next.spec.instance ?? "default") === operator.config.instance) {
      onRoute(watches, operator, next, previous);
    } else if (operator.routes.get(key) !== undefined) onRouteGone(watches, operator, key);
  });
}

function onRoute(
  { tenantSecrets, rings }: Watches,
  operator: Operator,
  next: Live<RouteObject>,
  previous: Live<RouteObject> | undefined,
): void {
  const { routes, enqueue, children } = operator;
  const key = keyOf(next);
  const { namespace = "" } = next.metadata;
  const before = routes.get(key);
  tenantSecrets.want(namespace);
  // Elsewhere nothing is asked for until its Secrets may be seen: one refusal is enough.
  if (isEnabled(operator, namespace)) for (const cache of [rings, children]) cache.want(namespace);
  routes.put(key, next);
  if (previous === undefined || isNews(next, previous)) enqueue.route(key);
  if (before === undefined) return enqueue.shelves(namespace);
  forgetSecretsOf(operator, before);
  if (placeOf(before) !== placeOf(next)) queuePlace(operator, placeOf(before));
  if (!isDedicatedChange(before, next)) return;
  enqueue.workers(key);
  enqueue.workers(namespace);
}

function onRouteGone(watches: Watches, operator: Operator, key: string): void {
  const { routes, unreached, enqueue } = operator;
  const before = routes.get(key);
  const { namespace = "" } = refOf(key);
  routes.remove(key);
  if (before !== undefined) forgetSecretsOf(operator, before);
  unreached.delete(key);
  enqueue.route(key);
  enqueue.shelves(namespace);
  enqueue.access(namespace);
  queuePlace(operator, placeOf(before));
  releaseSecrets(watches, operator, namespace);
}

/** Values of what no route refers to any more do not stay in memory. */
function forgetSecretsOf(operator: Operator, before: Live<RouteObject>): void {
  for (const name of secretNames(before)) forgetIfUnused(operator, `${before.metadata.namespace}/${name}`);
}

function isEnabled({ config: { rbac } }: Operator, namespace: string): boolean {
  return rbac.scope === "Cluster" || rbac.namespaces.includes(namespace);
}

function isDedicatedChange(before: Live<RouteObject>, next: Live<RouteObject>): boolean {
  if (before.metadata.generation === next.metadata.generation) return false;
  return before.spec.worker?.dedicated !== undefined || next.spec.worker?.dedicated !== undefined;
}

function placeOf(route: Live<RouteObject> | undefined): string {
  return route === undefined ? "" : placeKey(route.spec.exposure);
}

/** Whoever wants a place, and whoever is served there, which may want another one by now. */
function queuePlace({ routes, publications, enqueue }: Operator, place: string): void {
  for (const key of routes.ofPlace(place)) enqueue.route(key);
  for (const { route } of publications.at(place)) enqueue.route(route);
}

/** Its labels decide which hosts its routes may use. */
function connectNamespaces({ namespaces }: Watches, operator: Operator): void {
  const { routes, enqueue } = operator;
  namespaces.onChange(({ key, next }) => {
    if (next === undefined) enqueue.access(key);
    for (const route of routes.ofNamespace(key)) {
      enqueue.route(route);
      queueHostsOf(operator, routes.get(route)?.spec.exposure.host ?? "");
    }
  });
}

function queueHostsOf({ config, enqueue }: Operator, name: string): void {
  for (const host of config.gateway.hosts) if (isAbout(host.host, name)) enqueue.host(hostKey(host));
}

function connectEntries({ entries }: Watches, operator: Operator): void {
  const { publications } = operator;
  entries.onChange(({ next, previous }) => {
    if (next !== undefined) publications.put(next.parsed);
    else if (previous !== undefined) publications.gone(previous.metadata.name, previous.metadata.resourceVersion);
  });
  publications.onChange((before, after) => onPublication(operator, before, after));
}

/** What is published decides what workers deliver, which hosts are exposed, and who may have a place. */
function onPublication(operator: Operator, before: EntrySecret | undefined, after: EntrySecret | undefined): void {
  const { enqueue } = operator;
  const secret = after ?? before;
  if (secret === undefined) return;
  enqueue.route(secret.route);
  const entries = [entryIn(before), entryIn(after)].flatMap((entry) => entry ?? []);
  for (const scope of entries.flatMap(scopesOfRoute)) enqueue.workers(scopeKey(scope));
  const places = [before, after].map((one) => (one === undefined ? undefined : placeIn(one)));
  if (places[0] === places[1]) return;
  enqueue.access(namespaceOf(secret));
  for (const one of [before, after]) {
    const claim = one === undefined ? undefined : claimIn(one);
    if (claim === undefined) continue;
    queuePlace(operator, placeKey(claim));
    queueHostsOf(operator, claim.host);
  }
  enqueue.shelves(namespaceOf(secret));
}

/** An entry of `gateway.hosts` may be `*.example.com`. */
function isAbout(pattern: string, host: string): boolean {
  return pattern === host || (pattern.startsWith("*.") && host.endsWith(pattern.slice(1)));
}

/** The place that a Secret claims, and whether it is served. */
function placeIn(secret: EntrySecret): string | undefined {
  const claim = claimIn(secret);
  return claim === undefined ? undefined : `${placeKey(claim)} ${claim.releasedAt ?? "served"}`;
}

function connectRings({ rings }: Watches, operator: Operator): void {
  rings.onChange(({ key, next, previous }) => {
    const ring = next?.parsed;
    if (ring !== undefined && !operator.rings.put(ring)) return;
    if (ring === undefined && (previous === undefined || !operator.rings.gone(previous.parsed))) return;
    const { namespace = "", name } = refOf(key);
    for (const route of routesOfRing(operator, namespace, name)) operator.enqueue.route(route);
    for (const one of operator.destinations.index.ofRing(namespace, name)) operator.enqueue.destination(one);
  });
  operator.rings.onChange((namespace, name) => {
    for (const key of routesOfRing(operator, namespace, name)) queueWorkersOf(operator, key);
  });
}

function routesOfRing({ routes, rings }: Operator, namespace: string, ring: string): string[] {
  return routes.ofNamespace(namespace).filter((key) => {
    const route = routes.get(key);
    const ref = route === undefined ? undefined : signingRef(route);
    return ref !== undefined && rings.nameOf({ namespace, ...ref }) === ring;
  });
}

function queueWorkersOf({ publications, enqueue }: Operator, key: string): void {
  for (const secret of publications.ofRoute(key)) {
    const entry = entryIn(secret);
    for (const scope of entry === undefined ? [] : scopesOfRoute(entry)) enqueue.workers(scopeKey(scope));
  }
}

function connectGateways({ pods, leases }: Watches, operator: Operator): void {
  const { gateways, unreached, enqueue, seen } = operator;
  pods.onChange(({ next, previous }) => {
    const name = (next ?? previous)?.metadata.name ?? "";
    if (gateways.putPod(name, next)) for (const key of unreached.keys()) enqueue.route(key);
  });
  leases.onChange(({ next, previous }) => {
    const name = (next ?? previous)?.metadata.name ?? "";
    queueObserved(operator, seen.putLease(name, next));
    if (!gateways.putLease(name, next)) return;
    const reached = gateways.reached(SILENT_MS);
    for (const [key, seq] of unreached) if (seq <= reached) enqueue.route(key);
  });
}

/** @param keys of routes in custody */
function queueObserved({ publications, enqueue }: Operator, keys: readonly string[]): void {
  if (keys.length === 0) return;
  for (const secret of publications.all()) {
    if (keys.includes(entryIn(secret)?.route ?? "")) enqueue.route(secret.route);
  }
}

function onTenantSecret(operator: Operator, key: string): void {
  const { routes, destinations, enqueue, config } = operator;
  const { namespace = "", name } = refOf(key);
  if (name === provisionedRedisSecretName(config.instance)) return enqueue.access(namespace);
  if (name === config.redis.providedSecretName) onRedisSecret(operator, namespace);
  forgetIfUnused(operator, key);
  for (const destination of destinations.index.ofSecret(key)) enqueue.destination(destination);
  for (const route of routes.ofSecret(key)) {
    enqueue.route(route);
    // Its Pods may take variables from it.
    if (routes.get(route)?.spec.worker?.dedicated?.env !== undefined) enqueue.workers(route);
  }
}

/** Workers reach Redis by it: those of every namespace when they share one. */
function onRedisSecret({ routes, enqueue, config }: Operator, namespace: string): void {
  const isShared = config.redis.users === "Shared" && namespace === config.namespace;
  for (const key of isShared ? routes.keys() : routes.ofNamespace(namespace)) enqueue.route(key);
}

/** A child that is not as it was applied is made so again; how it fares shows in the status of its routes. */
function onChild(operator: Operator, kind: ChildKind, { next, previous }: Change<KubeObject>): void {
  const object = next ?? previous;
  if (object === undefined) return;
  const isBoth = next !== undefined && previous !== undefined;
  const isEdited = !isBoth || isNews(next, previous);
  const isOtherwise = !isBoth || statusText(next) !== statusText(previous);
  onWorkerChild(operator, { kind, object, isEdited, isOtherwise });
  onExposure(operator, { object, isEdited, isOtherwise }, isEdited ? changedPaths(previous, next) : new Set());
}

/** What a change of a child amounts to. `isEdited`: it may no longer be as it was applied; `isOtherwise`: it fares differently. */
interface ChildNews {
  readonly object: Live;
  readonly isEdited: boolean;
  readonly isOtherwise: boolean;
}

function onWorkerChild(
  operator: Operator,
  { kind, object, isEdited, isOtherwise }: ChildNews & { readonly kind: ChildKind },
): void {
  const scope = childScope(object);
  if (scope === undefined) return;
  if (isEdited) operator.enqueue.workers(scope);
  if (isOtherwise && kind === "Deployment") queueRoutesOf(operator, scope);
}

function onExposure(
  operator: Operator,
  { object, isEdited, isOtherwise }: ChildNews,
  paths: ReadonlySet<string>,
): void {
  for (const host of exposedHosts(object, operator.config)) {
    if (isEdited) operator.enqueue.host(host);
    if (isOtherwise) queueHostRoutes(operator, host);
    else if (paths.size > 0) queueHostRoutes(operator, host, paths);
  }
}

function queueRoutesOf({ publications, enqueue }: Operator, key: string): void {
  const scope = scopeOf(key);
  if ("route" in scope) return enqueue.route(key);
  for (const secret of publications.inNamespace(scope.namespace)) {
    const entry = entryIn(secret);
    if (entry !== undefined && !entry.worker.dedicated) enqueue.route(secret.route);
  }
}

/** @param paths only the routes at these, where each has a path of its own in the host's objects */
function queueHostRoutes({ config, routes, enqueue }: Operator, key: string, paths?: ReadonlySet<string>): void {
  const host = config.gateway.hosts.find((one) => hostKey(one) === key);
  if (host === undefined) return;
  for (const name of routes.hosts()) {
    if (!isAbout(host.host, name)) continue;
    const places = [...(paths ?? [])].map((path) => placeKey({ host: name, path }));
    const isAll = paths === undefined || host.paths === "Prefix";
    for (const route of isAll ? routes.ofHost(name) : places.flatMap((place) => routes.ofPlace(place))) {
      enqueue.route(route);
    }
  }
}

function statusText(object: Live): string {
  return JSON.stringify((object as Live<Deployment>).status ?? {});
}
