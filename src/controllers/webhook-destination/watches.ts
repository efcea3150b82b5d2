import type { WebhookRoute } from "../../api/generated/webhook-route.ts";
import { destinationId } from "../../api/names.ts";
import { keyOf, type Live, refOf } from "../../kube/objects.ts";
import type { Operator } from "../webhook-route/operator.ts";
import { isNews } from "../webhook-route/watching/news.ts";
import { releaseSecrets } from "../webhook-route/watching/release-secrets.ts";
import type { Watches } from "../webhook-route/watching/watches.ts";
import { secretNames } from "./destination-index.ts";
import { type DestinationObject, idOf } from "./destination-types.ts";
import { type DestinationSecret, namespaceOf } from "./publications.ts";

type Labels = Readonly<Record<string, string>>;

/** Feeds the operator's knowledge of WebhookDestinations from the watches, and queues whatever a change may concern. */
export function connectDestinations(watches: Watches, operator: Operator): void {
  const { publications } = operator.destinations;
  watches.destinations.onChange(({ key, next, previous }) => {
    const isOurs = next !== undefined && (next.spec.instance ?? "default") === operator.config.instance;
    if (isOurs) onDestination(watches, operator, next, previous);
    else if (operator.destinations.index.get(key) !== undefined) onGone(watches, operator, key);
  });
  watches.destinationEntries.onChange(({ next, previous }) => {
    if (next !== undefined) publications.put(next.parsed);
    else if (previous !== undefined) publications.gone(previous.metadata.name, previous.metadata.resourceVersion);
  });
  publications.onChange((before, after) => onPublication(operator, before, after));
}

function onDestination(
  { tenantSecrets, rings }: Watches,
  operator: Operator,
  next: Live<DestinationObject>,
  previous: Live<DestinationObject> | undefined,
): void {
  const { destinations, enqueue, children, config } = operator;
  const key = keyOf(next);
  const { namespace = "" } = next.metadata;
  const before = destinations.index.get(key);
  tenantSecrets.want(namespace);
  const isEnabled = config.rbac.scope === "Cluster" || config.rbac.namespaces.includes(namespace);
  // Elsewhere nothing is asked for until its Secrets may be seen: one refusal is enough.
  if (isEnabled) for (const cache of [rings, children]) cache.want(namespace);
  destinations.index.put(key, next);
  if (previous === undefined || isNews(next, previous)) enqueue.destination(key);
  if (before === undefined) return;
  forgetSecretsOf(operator, before);
  queueConcerned(operator, before, next);
}

/** Others that a change of a destination concerns. */
function queueConcerned(operator: Operator, before: Live<DestinationObject>, next: Live<DestinationObject>): void {
  const isAnother = before.metadata.uid !== next.metadata.uid;
  if (isAnother) queueClaimants(operator, before);
  const labels = [before, next].map(labelsOf);
  const isRelabelled = JSON.stringify(labels[0]) !== JSON.stringify(labels[1]);
  if (isRelabelled || isAnother) queueRoutesOf(operator, keyOf(next), labels);
}

function onGone(watches: Watches, operator: Operator, key: string): void {
  const { destinations, enqueue } = operator;
  const before = destinations.index.get(key);
  const { namespace = "" } = refOf(key);
  destinations.index.remove(key);
  enqueue.destination(key);
  if (before !== undefined) {
    forgetSecretsOf(operator, before);
    queueClaimants(operator, before);
    queueRoutesOf(operator, key, [labelsOf(before)]);
  }
  releaseSecrets(watches, operator, namespace);
}

/** Whoever wants the id that another one has, or had. */
function queueClaimants(operator: Operator, destination: Live<DestinationObject>): void {
  queueWanting(operator, destination.metadata.namespace ?? "", destinationId(idOf(destination)));
}

/** @param id see `destinationId` */
function queueWanting({ destinations, enqueue }: Operator, namespace: string, id: string | undefined): void {
  if (id === undefined) return;
  for (const key of destinations.index.ofId(namespace, id)) enqueue.destination(key);
}

/** Values of what nobody refers to any more do not stay in memory. */
function forgetSecretsOf(operator: Operator, before: Live<DestinationObject>): void {
  for (const name of secretNames(before)) forgetIfUnused(operator, `${before.metadata.namespace}/${name}`);
}

/** @param secret `namespace/name` */
export function forgetIfUnused({ routes, destinations, secrets }: Operator, secret: string): void {
  if (routes.ofSecret(secret).length + destinations.index.ofSecret(secret).length === 0) secrets.forget(secret);
}

/** What is published decides what workers are told, to whom routes may send, and who may have an id. */
function onPublication(
  operator: Operator,
  before: DestinationSecret | undefined,
  after: DestinationSecret | undefined,
): void {
  const { key = "" } = after ?? before ?? {};
  if (key === "") return;
  const { destinations, enqueue } = operator;
  const namespace = namespaceOf({ key });
  if (after === undefined) destinations.compiled.drop(key);
  enqueue.destination(key);
  enqueue.workers(namespace);
  if (concernOf(before) === concernOf(after)) return;
  for (const one of [before, after]) queueWanting(operator, namespace, one?.publication?.destination);
  queueRoutesOf(operator, key, [labelsOf(destinations.index.get(key))]);
}

function labelsOf(destination: Live<DestinationObject> | undefined): Labels {
  return destination?.metadata.labels ?? {};
}

/** What routes, and those who want an id, go by. */
function concernOf(secret: DestinationSecret | undefined): string {
  const { destination, limit, uid } = secret?.publication ?? {};
  return JSON.stringify([destination, limit, uid]);
}

/** Routes that name a destination, or select it by one of these labels. */
function queueRoutesOf({ routes, enqueue }: Operator, key: string, labels: readonly Labels[]): void {
  const { namespace = "", name } = refOf(key);
  for (const route of routes.ofNamespace(namespace)) {
    const spec = routes.get(route)?.spec;
    if (spec !== undefined && mayGoTo(spec, name, labels)) enqueue.route(route);
  }
}

/** Whether a route names a destination, or selects it by one of these labels. One whose events choose needs to know nothing of it. */
export function mayGoTo(
  {
    destinations = [],
    destinationSelector: selector,
  }: Pick<WebhookRoute["spec"], "destinations" | "destinationSelector">,
  name: string,
  labels: readonly Labels[],
): boolean {
  if (destinations.some(({ destinationRef }) => destinationRef?.name === name)) return true;
  if (selector === undefined || selector.idFrom !== undefined) return false;
  const wanted = Object.entries(selector.matchLabels ?? {});
  return labels.some((has) => wanted.every(([label, value]) => has[label] === value));
}
