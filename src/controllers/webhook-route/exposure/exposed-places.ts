import type { HostConfig } from "../../../config/schema.ts";
import type { KubeObject } from "../../../kube/objects.ts";
import { fieldOf } from "../../../lib/record.ts";
import type { Place } from "./place-parts.ts";

/** Host and path of everything that a live Ingress or HTTPRoute lets in, whoever wrote it so. A match for every path has the path "". */
function exposedPlaces(object: KubeObject): readonly Place[] {
  const spec = fieldOf(object, "spec");
  const rules = listOf(spec, "rules");
  const hostnames = listOf(spec, "hostnames");
  return rules.flatMap((rule) => {
    const paths = listOf(fieldOf(rule, "http"), "paths").map((one) => textOf(one, "path"));
    const matches = listOf(rule, "matches").map((match) => textOf(fieldOf(match, "path"), "value"));
    const hosts = hostnames.length > 0 ? hostnames : [textOf(rule, "host")];
    return hosts
      .filter((host) => typeof host === "string")
      .flatMap((host) => [...paths, ...matches].map((path) => ({ host, path })));
  });
}

/** Whether a live object of an entry of `gateway.hosts` holds the path of a route that is served there. */
export function holdsPlace(config: HostConfig, object: KubeObject, place: Place): boolean {
  // The objects of one entry name its own host, or hosts that its wildcard covers: an HTTPRoute keeps the wildcard.
  const isExact = config.paths === "Exact";
  const path = isExact ? place.path : config.pathPrefix;
  const host = isExact && config.via === "Ingress" ? place.host : config.host;
  return exposedPlaces(object).some((one) => one.host === host && one.path === path);
}

/** Paths that one of two states of an object has and the other has not. */
export function changedPaths(before: KubeObject | undefined, after: KubeObject | undefined): ReadonlySet<string> {
  const [old, young] = [before, after].map(
    (object) => new Map((object === undefined ? [] : exposedPlaces(object)).map((one) => [keyOf(one), one.path])),
  );
  const changed = [...(old ?? [])].filter(([key]) => young?.has(key) !== true);
  return new Set([...changed, ...[...(young ?? [])].filter(([key]) => old?.has(key) !== true)].map(([, path]) => path));
}

function keyOf({ host, path }: Place): string {
  return `${host} ${path}`;
}

function listOf(value: unknown, field: string): readonly unknown[] {
  const found = fieldOf(value, field);
  return Array.isArray(found) ? found : [];
}

function textOf(value: unknown, field: string): string {
  const found = fieldOf(value, field);
  return typeof found === "string" ? found : "";
}
