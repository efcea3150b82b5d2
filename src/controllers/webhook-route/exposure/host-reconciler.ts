import { COMPONENT_LABEL, exposureName, referenceGrantName } from "../../../api/names.ts";
import type { Config, HostConfig } from "../../../config/schema.ts";
import { KubeApiError } from "../../../kube/errors.ts";
import type { KubeObject, Live } from "../../../kube/objects.ts";
import type { ReconcileResult } from "../../../runtime/reconcile.ts";
import type { ChildKind } from "../children/child-kinds.ts";
import type { DesiredObject } from "../children/desired-object.ts";
import { decideHost } from "./host-policy.ts";
import { hostKey, hostObjects, type ServedRoute } from "./ingress.ts";
import type { Operator } from "../operator.ts";
import { entryIn } from "../publishing/publications.ts";

/** Caches that are not complete yet are looked at again after this long, ms. */
const SYNC_POLL_MS = 200;

/** Makes the objects that expose one entry of `gateway.hosts`: an Ingress, or HTTPRoutes with their grants. */
export class HostReconciler {
  readonly #operator: Operator;

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  /** @param key of `hostKey` */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { config, children } = this.#operator;
    const host = config.gateway.hosts.find((one) => hostKey(one) === key);
    if (host === undefined) return {};
    const routes = servedAt(this.#operator, host);
    const release = { ...config, service: config.gateway.service };
    const desired = hostObjects(host, routes, release);
    const isSyncing = ({ kind, metadata }: DesiredObject) =>
      children.state(metadata.namespace, [kind as ChildKind]) === "Syncing";
    if (desired.some(isSyncing)) return { requeueAfterMs: SYNC_POLL_MS };
    const failures = await this.#ensure(desired, signal);
    noteRefusals(this.#operator, key, { routes, failures });
    const wanted = new Set(desired.map(({ kind, metadata }) => `${kind}/${metadata.namespace}/${metadata.name}`));
    for (const { kind, object } of exposuresOf(this.#operator, host)) {
      const { namespace = "", name } = object.metadata;
      if (failures.has(groupOf(kind, namespace))) continue;
      if (!wanted.has(`${kind}/${namespace}/${name}`)) await children.remove(kind, object, signal);
    }
    for (const error of failures.values()) throw error;
    return {};
  }

  /**
   * After a failure nothing more of that kind is written in that namespace: a path that was to move into the refused part stays where it is. Other
   * namespaces go on.
   * @returns what failed, by group
   */
  async #ensure(desired: readonly DesiredObject[], signal: AbortSignal): Promise<ReadonlyMap<string, unknown>> {
    const { children } = this.#operator;
    const failures = new Map<string, unknown>();
    for (const object of desired) {
      const kind = object.kind as ChildKind;
      const group = groupOf(kind, object.metadata.namespace);
      // Without the Gateway API there is nothing to write: `IngressReady` says so.
      if (failures.has(group) || !children.isAvailable(kind)) continue;
      try {
        // oxlint-disable-next-line no-await-in-loop -- in their order
        await children.ensure(object, signal);
      } catch (error) {
        if (!(error instanceof KubeApiError)) throw error;
        failures.set(group, error);
      }
    }
    return failures;
  }
}

function groupOf(kind: ChildKind, namespace: string): string {
  return `${kind}/${namespace}`;
}

/** Keeps what the API server said, for the status of the routes that it concerns, and has them looked at when it is news. */
function noteRefusals(
  { refusedExposures, enqueue }: Operator,
  host: string,
  { routes, failures }: { readonly routes: readonly ServedRoute[]; readonly failures: ReadonlyMap<string, unknown> },
): void {
  const before = refusedExposures.get(host) ?? new Map<string, string>();
  const now = new Map(
    [...failures].flatMap(([group, error]) =>
      // What another try may change is no refusal.
      error instanceof KubeApiError && error.status < 500 && error.status !== 429 && error.code !== "Conflict"
        ? [[group, error.message] as const]
        : [],
    ),
  );
  if (now.size === 0) refusedExposures.delete(host);
  else refusedExposures.set(host, now);
  const groups = new Set([...before.keys(), ...now.keys()].filter((group) => before.get(group) !== now.get(group)));
  if (groups.size === 0) return;
  const concerns = (namespace: string) =>
    [...groups].some((group) => !group.startsWith("HTTPRoute/") || group === groupOf("HTTPRoute", namespace));
  for (const { namespace, name } of routes) if (concerns(namespace)) enqueue.route(`${namespace}/${name}`);
}

/** What the API server said when it refused an object that a route of a namespace needs to be reached; at most 300 characters. */
export function exposureRefusal(operator: Operator, host: HostConfig, namespace: string): string | undefined {
  const refusals = operator.refusedExposures.get(hostKey(host));
  return host.via === "Ingress"
    ? refusals?.get(groupOf("Ingress", operator.config.namespace))
    : refusals?.get(groupOf("HTTPRoute", namespace));
}

/** The objects that decide whether a route of a namespace can be reached from outside. */
export function exposureObjects(
  operator: Operator,
  host: HostConfig,
  namespace: string,
): readonly (KubeObject | undefined)[] {
  const { children, config } = operator;
  if (host.via === "None") return [];
  const kind = host.via === "Ingress" ? "Ingress" : "HTTPRoute";
  const place = host.via === "Ingress" ? config.namespace : namespace;
  const name = exposureName(config.instance, host.host, host.pathPrefix);
  const live = children.ofKind(kind, place, (one) => isPartOf(one, name));
  return live.length > 0 ? live : [children.get(kind, place, name)];
}

/** An exposure is one object, or several with a number after the first one's name. */
function isPartOf(name: string, first: string): boolean {
  return name === first || name.startsWith(`${first}-`);
}

/** The `hostKey` of the entry of `gateway.hosts` that an object exposes. */
export function exposedHosts({ metadata }: KubeObject, config: Config): readonly string[] {
  if (metadata.labels?.[COMPONENT_LABEL] !== "ingress") return [];
  const base = metadata.name.replace(/(-host-[0-9a-f]{16})-\d+$/, "$1");
  return config.gateway.hosts
    .filter(({ host, pathPrefix, via }) => {
      if (base === exposureName(config.instance, host, pathPrefix)) return true;
      return via === "HTTPRoute" && metadata.name.includes("-grant-");
    })
    .map(hostKey);
}

/** Every object in the caches that was made for an entry of `gateway.hosts`. */
function exposuresOf(operator: Operator, host: HostConfig): { readonly kind: ChildKind; readonly object: Live }[] {
  const { children, config, routes } = operator;
  const name = exposureName(config.instance, host.host, host.pathPrefix);
  const grants = new Set(
    [...routes.namespaces()].map((namespace) =>
      referenceGrantName(config.instance, host.host, host.pathPrefix, namespace),
    ),
  );
  return [...children.list()].filter(({ object: { metadata } }) => {
    if (metadata.labels?.[COMPONENT_LABEL] !== "ingress") return false;
    return isPartOf(metadata.name, name) || grants.has(metadata.name);
  });
}

/** The published routes that the host policy gives to this entry. */
function servedAt(operator: Operator, host: HostConfig): ServedRoute[] {
  const { publications, config } = operator;
  const key = hostKey(host);
  return [...publications.all()].flatMap((secret) => {
    const entry = entryIn(secret);
    if (entry === undefined) return [];
    const { namespace, name, path } = entry;
    const namespaceLabels = operator.namespace(namespace)?.metadata.labels ?? {};
    const decision = decideHost({ host: entry.host, path, namespace, namespaceLabels }, config.gateway.hosts);
    return decision.ok && hostKey(decision.host) === key ? [{ namespace, name, host: entry.host, path }] : [];
  });
}
