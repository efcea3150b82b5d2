import type { Reason } from "../../../api/conditions.ts";
import type { HostConfig } from "../../../config/schema.ts";

/** Why a part of a route is not as it should be: reason and message of a condition. */
export interface Refusal {
  readonly reason: Reason;
  readonly message: string;
}

export interface HostRequest {
  readonly host: string;
  readonly path: string;
  readonly namespace: string;
  readonly namespaceLabels: Readonly<Record<string, string>>;
}

/** `host`: the entry of `gateway.hosts` that admits the route. `tlsMissing`: what makes `IngressReady` false, whatever the objects say. */
export type HostDecision =
  | { readonly ok: true; readonly host: HostConfig; readonly tlsMissing?: Refusal }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Whether a route may have its host and path. `ok: false`: `Accepted=False/HostNotAllowed`. An entry with the very host comes before a
 * wildcard (`*.example.com`, one label, as in an Ingress); of several that admit the route, the one with the longest prefix counts.
 */
export function decideHost(request: HostRequest, hosts: readonly HostConfig[]): HostDecision {
  const { host, path, namespace } = request;
  const named = entriesFor(host, hosts);
  const permitted = named.filter((entry) => isSelected(request.namespaceLabels, entry));
  const [entry] = permitted
    .filter(({ pathPrefix }) => isBelow(path, pathPrefix))
    .toSorted((a, b) => b.pathPrefix.length - a.pathPrefix.length);
  if (entry !== undefined) return { ok: true, host: entry, ...tlsProblem(entry) };
  const [first] = named;
  if (first === undefined) return refuse(unknownHost(request, hosts));
  if (permitted.length === 0) return refuse(notSelected(request, first));
  const prefixes = permitted.map(({ pathPrefix }) => pathPrefix).join(" or ");
  return refuse(
    `path ${path} is outside ${prefixes}, which is all that namespace ${namespace} may use of host ${host}: choose a path below it`,
  );
}

function entriesFor(host: string, hosts: readonly HostConfig[]): readonly HostConfig[] {
  const exact = hosts.filter((entry) => entry.host === host);
  if (exact.length > 0) return exact;
  const wildcard = `*${host.slice(host.indexOf("."))}`;
  return host.includes(".") ? hosts.filter((entry) => entry.host === wildcard) : [];
}

function isSelected(labels: Readonly<Record<string, string>>, { namespaces }: HostConfig): boolean {
  return Object.entries(namespaces?.matchLabels ?? {}).every(([name, value]) => labels[name] === value);
}

/** `/shop` and `/shop/` hold `/shop` and `/shop/a`, not `/shopping`: as `Prefix` of an Ingress, element by element. */
function isBelow(path: string, prefix: string): boolean {
  const base = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix;
  return path === base || path.startsWith(`${base}/`);
}

/** The listener of a Gateway has its own certificate; of an Ingress we know, and of what is exposed by other means nothing. */
function tlsProblem(entry: HostConfig): { readonly tlsMissing?: Refusal } {
  if (entry.via === "HTTPRoute" || entry.tlsSecretName !== undefined || entry.allowHTTP) return {};
  const message = `host ${entry.host} is served without TLS: its entry in gateway.hosts needs tlsSecretName, or allowHTTP if something in front ends TLS`;
  return { tlsMissing: { reason: "TLSMissing", message } };
}

/** Most hosts that a message lists. */
const MAX_LISTED = 5;

function unknownHost({ host, namespaceLabels }: HostRequest, hosts: readonly HostConfig[]): string {
  const usable = [...new Set(hosts.filter((entry) => isSelected(namespaceLabels, entry)).map((entry) => entry.host))];
  const others = usable.length === 0 ? "" : `use ${usable.slice(0, MAX_LISTED).join(" or ")}, or `;
  return `host ${host} is none of this release's: ${others}have its administrator add it to gateway.hosts`;
}

function notSelected({ host, namespace, namespaceLabels }: HostRequest, entry: HostConfig): string {
  const missing = Object.entries(entry.namespaces?.matchLabels ?? {})
    .filter(([name, value]) => namespaceLabels[name] !== value)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
  return `namespace ${namespace} may not use host ${host}: kubectl label namespace ${namespace} ${missing}`;
}

function refuse(message: string): HostDecision {
  return { ok: false, refusal: { reason: "HostNotAllowed", message } };
}
