import { exposureName } from "../../../api/names.ts";
import type { Config, HostConfig } from "../../../config/schema.ts";
import { type DesiredObject, desiredObject } from "../children/desired-object.ts";
import { EXPOSURE_LABELS } from "./exposure-labels.ts";
import { httpRouteObjects } from "./http-route.ts";
import { dealOut, distinctPlaces, groupBy, type Part, type Place } from "./place-parts.ts";

/** A served route: its entry is published. */
export interface ServedRoute {
  readonly namespace: string;
  readonly name: string;
  readonly host: string;
  readonly path: string;
}

export type IngressRelease = Pick<Config, "release" | "instance" | "namespace"> & {
  /** `gateway.service` of the config. */
  readonly service: Config["gateway"]["service"];
};

/** Key of an entry of `gateway.hosts`: two entries may share a host if their prefixes differ. */
export function hostKey({ host, pathPrefix }: Pick<HostConfig, "host" | "pathPrefix">): string {
  return `${host}${pathPrefix}`;
}

/** The objects that expose one entry of `gateway.hosts`, in the order in which they must be applied. Pure; equal input gives equal bytes. */
export function hostObjects(
  host: HostConfig,
  routes: readonly ServedRoute[],
  release: IngressRelease,
): readonly DesiredObject[] {
  if (host.via === "None") return [];
  return host.via === "HTTPRoute" ? httpRouteObjects(host, routes, release) : ingressObjects(host, routes, release);
}

/** Most paths of one Ingress: with the longest ones, half of what etcd stores as one object (1.5 MiB). */
const MAX_PATHS = 1_000;

/**
 * The Ingress of a host, in the release's namespace: it points at the gateways' Service, which must be beside it. `Prefix` needs no route, so
 * that the certificate is there before the first one; `Exact` has the routes' paths alone. The last part comes first: when a path moves into a
 * new part, it is never in none.
 */
function ingressObjects(host: HostConfig, routes: readonly ServedRoute[], release: IngressRelease): DesiredObject[] {
  const places = host.paths === "Prefix" ? [{ host: host.host, path: host.pathPrefix }] : distinctPlaces(routes);
  return dealOut(places, (place) => `${place.host} ${place.path}`, MAX_PATHS)
    .map((part) => ingress(host, part, release))
    .toReversed();
}

function ingress(host: HostConfig, { n, items }: Part<Place>, release: IngressRelease): DesiredObject {
  const { instance, namespace, service } = release;
  const pathType = host.paths;
  const backend = { service: { name: service.name, port: { number: service.port } } };
  const rules = [...groupBy(items, (place) => place.host)].map(([name, places]) => ({
    host: name,
    http: { paths: places.map(({ path }) => ({ path, pathType, backend })) },
  }));
  return desiredObject(instance, {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: exposureName(instance, host.host, host.pathPrefix, n),
      namespace,
      labels: EXPOSURE_LABELS,
      annotations: host.annotations,
    },
    spec: {
      ingressClassName: host.className,
      tls: host.tlsSecretName === undefined ? [] : [{ hosts: [host.host], secretName: host.tlsSecretName }],
      rules,
    },
  });
}
