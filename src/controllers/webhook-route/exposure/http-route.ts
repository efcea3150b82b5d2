import { exposureName, referenceGrantName } from "../../../api/names.ts";
import type { HostConfig } from "../../../config/schema.ts";
import { type DesiredObject, desiredObject } from "../children/desired-object.ts";
import { EXPOSURE_LABELS } from "./exposure-labels.ts";
import type { IngressRelease, ServedRoute } from "./ingress.ts";
import { dealOut, distinctPlaces, groupBy, type Part, type Place } from "./place-parts.ts";

const GATEWAY_API = "gateway.networking.k8s.io";

/** Matches of a rule, rules of an HTTPRoute (https://gateway-api.sigs.k8s.io/reference/spec/: 16 rules; 8 matches in v1.0, more later but 128 in all). */
const MAX_MATCHES = 8;
const MAX_RULES = 16;

/**
 * HTTPRoutes of a host in the namespaces of its routes, each with a ReferenceGrant in the release's namespace, without which its backend would
 * be refused. Grants come first.
 */
export function httpRouteObjects(
  host: HostConfig,
  routes: readonly ServedRoute[],
  release: IngressRelease,
): DesiredObject[] {
  const namespaces = [...groupBy(routes, ({ namespace }) => namespace)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return namespaces.flatMap(([namespace, own]) => [
    ...(namespace === release.namespace ? [] : [referenceGrant(host, namespace, release)]),
    ...httpRoutes(host, own, release),
  ]);
}

/** The hostname is the entry's, wildcard or not: the gateways know which host has which path. */
function httpRoutes(host: HostConfig, routes: readonly ServedRoute[], release: IngressRelease): DesiredObject[] {
  const namespace = routes[0]?.namespace ?? release.namespace;
  const places = distinctPlaces(routes.map(({ path }) => ({ host: host.host, path })));
  const parts =
    host.paths === "Prefix" ? [{ n: 0, items: places }] : dealOut(places, ({ path }) => path, MAX_MATCHES * MAX_RULES);
  return parts.map((part) => httpRoute(host, part, namespace, release)).toReversed();
}

function httpRoute(
  host: HostConfig,
  { n, items }: Part<Place>,
  namespace: string,
  release: IngressRelease,
): DesiredObject {
  const { instance, service } = release;
  return desiredObject(instance, {
    apiVersion: `${GATEWAY_API}/v1`,
    kind: "HTTPRoute",
    metadata: {
      name: exposureName(instance, host.host, host.pathPrefix, n),
      namespace,
      labels: EXPOSURE_LABELS,
      annotations: host.annotations,
    },
    spec: {
      parentRefs: host.parentRefs,
      hostnames: [host.host],
      rules: chunks(matchesOf(host, items), MAX_MATCHES).map((matches) => ({
        matches,
        backendRefs: [{ name: service.name, namespace: release.namespace, port: service.port }],
      })),
    },
  });
}

function matchesOf({ paths, pathPrefix }: HostConfig, places: readonly Place[]) {
  return paths === "Prefix"
    ? [{ path: { type: "PathPrefix", value: pathPrefix } }]
    : places.map(({ path }) => ({ path: { type: "Exact", value: path } }));
}

/** One grant a namespace, as a grant names at most 16. */
function referenceGrant(
  host: HostConfig,
  from: string,
  { instance, namespace, service }: IngressRelease,
): DesiredObject {
  return desiredObject(instance, {
    apiVersion: `${GATEWAY_API}/v1beta1`,
    kind: "ReferenceGrant",
    metadata: {
      name: referenceGrantName(instance, host.host, host.pathPrefix, from),
      namespace,
      labels: EXPOSURE_LABELS,
    },
    spec: {
      from: [{ group: GATEWAY_API, kind: "HTTPRoute", namespace: from }],
      to: [{ group: "", kind: "Service", name: service.name }],
    },
  });
}

function chunks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}
