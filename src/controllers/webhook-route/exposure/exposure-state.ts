import type { HostConfig } from "../../../config/schema.ts";
import type { KubeObject } from "../../../kube/objects.ts";
import { fieldOf, isRecord } from "../../../lib/record.ts";
import { holdsPlace } from "./exposed-places.ts";
import type { Place } from "./place-parts.ts";
import type { Finding } from "../status/status-input.ts";

/** A route at its host. */
export interface Exposed {
  /** Where it is served. */
  readonly place: Place;
  /** What the API server said when it refused the newest state of an object. */
  readonly refusal?: string | undefined;
}

/**
 * `IngressReady` from the live objects that expose a route: one of them has its path, and it is an Ingress that has an address, or they are
 * HTTPRoutes that every Gateway has accepted.
 *
 * @param live all objects of kind Ingress or HTTPRoute that the host has in the route's reach; `undefined` for one that is not there yet
 */
export function exposureState(
  host: HostConfig,
  live: readonly (KubeObject | undefined)[],
  { place, refusal }: Exposed,
): Finding {
  if (host.via === "None") {
    return { status: "True", reason: "NotExposed", message: `host ${host.host} is exposed by other means (via: None)` };
  }
  if (!live.some((object) => object !== undefined && holdsPlace(host, object, place))) {
    if (refusal === undefined) return pathMissing(host, live, place);
    const message = `the API server refuses the ${host.via} of host ${host.host} with path ${place.path}: ${refusal}`;
    return { status: "False", reason: "IngressNotAdmitted", message };
  }
  const problem = live.map((object) => problemOf(host, object)).find((found) => found !== undefined);
  if (problem !== undefined) return problem;
  return { status: "True", reason: "Reconciled", message: `host ${host.host} is exposed by ${host.via}` };
}

function pathMissing(host: HostConfig, live: readonly (KubeObject | undefined)[], { path }: Place): Finding {
  const isThere = live.some((object) => object !== undefined);
  const message = isThere
    ? `no ${host.via} of host ${host.host} has path ${path} yet`
    : `the ${host.via} of host ${host.host} is not there yet`;
  return { status: "False", reason: "Progressing", message };
}

function problemOf(host: HostConfig, object: KubeObject | undefined): Finding | undefined {
  if (object === undefined) {
    return { status: "False", reason: "Progressing", message: `the ${host.via} of host ${host.host} is not there yet` };
  }
  return host.via === "Ingress" ? ingressProblem(host, object) : routeProblem(host, object);
}

function ingressProblem(host: HostConfig, object: KubeObject): Finding | undefined {
  const addresses = fieldOf(fieldOf(fieldOf(object, "status"), "loadBalancer"), "ingress");
  if (Array.isArray(addresses) && addresses.length > 0) return undefined;
  const wanted = host.className === undefined ? "the default IngressClass" : `IngressClass ${host.className}`;
  const message = `Ingress ${object.metadata.name} has no address yet: is the controller of ${wanted} running?`;
  return { status: "False", reason: "IngressNotAdmitted", message };
}

/** Conditions a Gateway's controller sets on an HTTPRoute (https://gateway-api.sigs.k8s.io/reference/spec/#routeconditiontype). */
const ROUTE_CONDITIONS = ["Accepted", "ResolvedRefs"];

function routeProblem({ parentRefs }: HostConfig, object: KubeObject): Finding | undefined {
  const { name, namespace, generation = 0 } = object.metadata;
  const statuses = fieldOf(fieldOf(object, "status"), "parents");
  for (const parent of parentRefs) {
    const wanted = { ...parent, namespace: parent.namespace ?? namespace };
    const status = Array.isArray(statuses)
      ? statuses.find((one) => isParent(fieldOf(one, "parentRef"), wanted, namespace))
      : undefined;
    const unmet = ROUTE_CONDITIONS.find((type) => !isTrue(fieldOf(status, "conditions"), type, generation));
    if (unmet === undefined) continue;
    const said = saidOf(fieldOf(status, "conditions"), unmet);
    const message = `Gateway ${wanted.namespace}/${wanted.name} has not accepted HTTPRoute ${namespace}/${name} (${unmet}: ${said}): look at its listeners and allowedRoutes`;
    return { status: "False", reason: "GatewayNotAccepted", message };
  }
  return undefined;
}

interface ParentRef {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly sectionName?: string | undefined;
}

function isParent(value: unknown, wanted: ParentRef, own: string | undefined): boolean {
  return (
    fieldOf(value, "name") === wanted.name &&
    (fieldOf(value, "namespace") ?? own) === wanted.namespace &&
    fieldOf(value, "sectionName") === wanted.sectionName
  );
}

function conditionOf(conditions: unknown, type: string): Readonly<Record<string, unknown>> | undefined {
  return Array.isArray(conditions)
    ? conditions.filter(isRecord).find((condition) => condition["type"] === type)
    : undefined;
}

/** An older generation's condition says nothing about this one; a controller that sets none is believed. */
function isTrue(conditions: unknown, type: string, generation: number): boolean {
  const condition = conditionOf(conditions, type);
  const observed = condition?.["observedGeneration"];
  return condition?.["status"] === "True" && (typeof observed !== "number" || observed >= generation);
}

function saidOf(conditions: unknown, type: string): string {
  const reason = conditionOf(conditions, type)?.["reason"];
  return typeof reason === "string" ? reason : "nothing yet";
}
