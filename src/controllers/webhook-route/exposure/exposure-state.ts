import type { HostConfig } from "../../../config/schema.ts";
import type { KubeObject } from "../../../kube/objects.ts";
import { fieldOf, isRecord } from "../../../lib/record.ts";
import type { Finding } from "../status/status-input.ts";

/**
 * `IngressReady` from the live objects that expose a route: an Ingress that has an address, or HTTPRoutes that every Gateway has accepted.
 *
 * @param live all objects of kind Ingress or HTTPRoute that the host has in the route's reach; `undefined` for one that is not there yet
 */
export function exposureState(host: HostConfig, live: readonly (KubeObject | undefined)[]): Finding {
  if (host.via === "None") {
    return { status: "True", reason: "NotExposed", message: `host ${host.host} is exposed by other means (via: None)` };
  }
  const problem = live.map((object) => problemOf(host, object)).find((found) => found !== undefined);
  if (problem !== undefined) return problem;
  return { status: "True", reason: "Reconciled", message: `host ${host.host} is exposed by ${host.via}` };
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
