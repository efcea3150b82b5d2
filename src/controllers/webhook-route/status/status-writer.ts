import type { WebhookRouteStatus } from "../../../api/generated/webhook-route.ts";
import { entrySecretName } from "../../../api/names.ts";
import type { HostConfig } from "../../../config/schema.ts";
import { type Live, slim } from "../../../kube/objects.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import { manifestOf } from "../route/assessment.ts";
import { exposureState } from "../exposure/exposure-state.ts";
import { heldBackFor } from "./first-status.ts";
import type { Refusal } from "../exposure/host-policy.ts";
import { exposureObjects, exposureRefusal } from "../exposure/host-reconciler.ts";
import { mergePatchOf } from "../children/merge-patch.ts";
import type { Operator } from "../operator.ts";
import { entryIn } from "../publishing/publications.ts";
import type { RouteObject } from "../watching/route-index.ts";
import { WEBHOOK_ROUTES } from "../route-types.ts";
import { routeStatus, sameStatus } from "./status.ts";
import { edges } from "./status-events.ts";
import type { Finding, RouteStatusInput } from "./status-input.ts";
import { workerState } from "../workers/worker-state.ts";

/** What a reconcile found out, as far as it came. */
export type RouteFindings = Pick<
  RouteStatusInput,
  "url" | "refusal" | "isAccepted" | "warnings" | "unresolved" | "rotation" | "destinations"
> & {
  readonly host?: HostConfig;
  readonly tlsMissing?: Refusal | undefined;
  /** Value of the command that was carried out now. */
  readonly revokedAt?: string;
};

export interface StatusOutcome {
  readonly isProgrammed: boolean;
  /** Nothing was written, and it is looked at again after this long. */
  readonly heldBackMs?: number;
}

/**
 * Writes the status if it says something new, and the Events of what changed. Over the version that the reconcile looked at: what somebody else
 * wrote meanwhile makes it a conflict, and another look.
 */
export async function writeStatus(
  operator: Operator,
  route: Live<RouteObject>,
  findings: RouteFindings,
): Promise<StatusOutcome> {
  const { client, routes, events } = operator;
  const input = statusInput(operator, route, findings);
  const next = routeStatus(input);
  const isProgrammed = (next.conditions ?? []).some(({ type, status }) => type === "Programmed" && status === "True");
  noteReach(operator, route, isProgrammed);
  if (sameStatus(route.status, next)) return { isProgrammed };
  const heldBackMs = heldBackFor(route.status, next, { publishedAt: input.entry?.seq, now: input.now });
  if (heldBackMs !== undefined) return { isProgrammed, heldBackMs };
  const { metadata } = route;
  const { uid, resourceVersion } = metadata;
  const patch = { status: mergePatchOf(route.status ?? {}, next) ?? {} };
  const resource = client.resource(WEBHOOK_ROUTES);
  const written = await resource.mergePatch(metadata, patch, { uid, resourceVersion }, { subresource: "status" });
  routes.putWritten(`${metadata.namespace}/${metadata.name}`, slim(written));
  for (const { type, reason, message } of edges(route.status, next)) {
    events.record(route, { type, reason, action: "Reconcile", note: message });
  }
  if (findings.revokedAt !== undefined) {
    const note = "every previous key was ended, as the annotation asked";
    events.record(route, { type: "Normal", reason: "PreviousKeysRevoked", action: "Revoke", note });
  }
  return { isProgrammed };
}

/** Whom to look at again when a gateway has come further. */
function noteReach(
  { unreached, publications, config }: Operator,
  { metadata }: Live<RouteObject>,
  isProgrammed: boolean,
): void {
  const { namespace = "", name } = metadata;
  const seq = publications.get(entrySecretName(config.instance, namespace, name))?.publication?.seq;
  if (isProgrammed || seq === undefined) unreached.delete(`${namespace}/${name}`);
  else unreached.set(`${namespace}/${name}`, seq);
}

function statusInput(operator: Operator, route: Live<RouteObject>, findings: RouteFindings): RouteStatusInput {
  const { config, clock, publications, gateways } = operator;
  const { namespace = "", name } = route.metadata;
  const secret = entrySecretName(config.instance, namespace, name);
  const entry = entryIn(publications.get(secret));
  const { host, tlsMissing, revokedAt, ...known } = findings;
  const ingress = host === undefined ? undefined : ingressFinding(operator, { host, tlsMissing, entry, namespace });
  return {
    ...(entry === undefined ? {} : published(operator, route, entry)),
    ...known,
    route: { ...manifestOf(route), ...(route.status === undefined ? {} : { status: route.status }) },
    now: clock.now(),
    gateways: gateways.seenBy(secret),
    ...(ingress === undefined ? {} : { ingress }),
    lastHandled: { ...route.status?.lastHandled, ...(revokedAt === undefined ? {} : { revokePreviousAt: revokedAt }) },
  };
}

/** How what is published fares. */
function published(operator: Operator, route: Live<RouteObject>, entry: RouteEntry): Partial<RouteStatusInput> {
  const observed = operator.seen.of(entry.route);
  return {
    ...operator.observations.of(entry.route),
    ...(observed === undefined ? {} : { observed }),
    entry,
    workers: workerState(operator, route, entry),
  };
}

function ingressFinding(
  operator: Operator,
  parts: {
    readonly host: HostConfig;
    readonly tlsMissing: Refusal | undefined;
    readonly entry: RouteEntry | undefined;
    readonly namespace: string;
  },
): Finding {
  const { host, tlsMissing, entry, namespace } = parts;
  if (tlsMissing !== undefined) return { status: "False", ...tlsMissing };
  const place = entry ?? (host.via === "None" ? { host: host.host, path: host.pathPrefix } : undefined);
  if (place === undefined) return { status: "Unknown", reason: "Progressing", message: "nothing is published yet" };
  const refusal = exposureRefusal(operator, host, namespace);
  return exposureState(host, exposureObjects(operator, host, namespace), { place, refusal });
}

/** Whether a status says that everything works. */
export function isReady(status: WebhookRouteStatus | undefined): boolean {
  return (status?.conditions ?? []).some((condition) => condition.type === "Ready" && condition.status === "True");
}
