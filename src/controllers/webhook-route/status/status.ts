import { isDeepStrictEqual } from "node:util";
import type { WebhookRouteCondition, WebhookRouteStatus } from "../../../api/generated/webhook-route.ts";
import { condition, type ConditionContext, conditionOf } from "./conditions.ts";
import { destinationsStatus, rotationStatus } from "./status-details.ts";
import { partFindings, progress, ready } from "./status-findings.ts";
import type { RouteStatusInput } from "./status-input.ts";
import { warningFindings } from "./status-warnings.ts";

/**
 * The whole status of a route. Pure: equal input gives an equal status, no time in it moves by itself, and what is not known keeps its last
 * value. Names Secrets and fields, never values.
 */
export function routeStatus(input: RouteStatusInput): WebhookRouteStatus {
  const { route, entry } = input;
  const before = route.status ?? {};
  const generation = route.metadata.generation ?? 0;
  const url = input.url === undefined ? before.url : withoutUser(input.url);
  const rotation = entry === undefined ? before.rotation : rotationStatus(entry.keys, input.rotation);
  const destinations =
    entry === undefined
      ? before.destinations
      : destinationsStatus(
          entry.destinations.map(({ name }) => name),
          input.circuits,
          before.destinations,
        );
  const backlog = input.backlog ?? before.backlog;
  const lastHandled = input.lastHandled ?? before.lastHandled;
  return defined({
    observedGeneration: generation,
    conditions: conditionsOf(input, { generation, now: input.now, previous: before.conditions }),
    url,
    lastHandled: lastHandled !== undefined && Object.keys(lastHandled).length > 0 ? lastHandled : undefined,
    rotation,
    destinations,
    backlog,
  });
}

function conditionsOf(input: RouteStatusInput, context: ConditionContext): WebhookRouteCondition[] {
  const parts = partFindings(input, context);
  const summary = ready(parts);
  const { reconciling, stalled } = progress(summary);
  return [
    condition("Ready", summary, context),
    condition("Reconciling", reconciling, context),
    condition("Stalled", stalled, context),
    ...[...parts].map(([type, finding]) => condition(type, finding, context)),
    ...[...warningFindings(input)].flatMap(([type, finding]) => {
      const before = conditionOf(context.previous, type);
      if (finding === undefined)
        return before === undefined ? [] : { ...before, observedGeneration: context.generation };
      // A warning that never was is left out: most routes have none of them.
      return before === undefined && finding.status === "False" ? [] : condition(type, finding, context);
    }),
  ];
}

/** A URL without user name and password, which some providers sign with it. */
function withoutUser(url: string): string {
  return url.replace(/^(https?:\/\/)[^/?#]*@/, "$1");
}

/** Without `undefined`, which no JSON has. */
function defined(
  status: { readonly [Key in keyof WebhookRouteStatus]: WebhookRouteStatus[Key] | undefined },
): WebhookRouteStatus {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}

/** Whether there is nothing to write. */
export function sameStatus(a: WebhookRouteStatus | undefined, b: WebhookRouteStatus): boolean {
  return a !== undefined && isDeepStrictEqual(a, b);
}
