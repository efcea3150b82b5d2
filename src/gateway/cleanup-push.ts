import { CLEANUP_FIELDS, readCleanupRequest } from "../api/cleanup-request.ts";
import { cleanupRunPath } from "../api/cleanup-run.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { Exchange } from "./exchange.ts";
import type { GatewayReason } from "./refusals.ts";

/** What a route with cleanup destinations demands of each event, whatever their filters: a filter that is edited later must find a run in it. */
export interface CleanupRules {
  readonly namespace: string;
  /** Of the first such destination: where the answer leads. */
  readonly policy: string;
  /** Policies by the ids of the destinations. */
  readonly policies: ReadonlyMap<string, string>;
}

/** `undefined` for a route without such a destination. */
export function compileCleanup({ namespace, destinations }: RouteEntry): CleanupRules | undefined {
  const policies = new Map(
    destinations.flatMap(({ id, target }) => (target.type === "cleanup" ? [[id, target.policy] as const] : [])),
  );
  const [policy] = policies.values();
  return policy === undefined ? undefined : { namespace, policy, policies };
}

const REASONS: ReadonlyMap<string, GatewayReason> = new Map([
  [CLEANUP_FIELDS.runId, "RunIdInvalid"],
  [CLEANUP_FIELDS.scope, "ScopeInvalid"],
  [CLEANUP_FIELDS.cutoff, "CutoffInvalid"],
]);

/**
 * Holds a body against what its route's cleanup destinations demand, and notes the run's id.
 *
 * @returns why it fails, with a line for the operator that names the field, never its value
 */
export function checkRun(exchange: Exchange): { readonly reason: GatewayReason; readonly detail: string } | undefined {
  const { route, view } = exchange;
  if (route.cleanup === undefined) return undefined;
  const parsed = view.json();
  if (!parsed.ok) return { reason: "PayloadNotJson", detail: "the body is not JSON in UTF-8" };
  const result = readCleanupRequest(parsed.value);
  if (!result.ok) {
    return { reason: REASONS.get(result.field) ?? "FieldMissing", detail: `${result.field} ${result.message}` };
  }
  exchange.runId = result.request.runId;
  return undefined;
}

/** Path, on the API listener, of the run that an event asks for. */
export function runLocation({ route, runId }: Pick<Exchange, "route" | "runId">): string | undefined {
  const { cleanup } = route;
  return cleanup && runId !== undefined ? cleanupRunPath({ ...cleanup, runId }) : undefined;
}

/** Of these routes those of a namespace whose events ask for runs of a policy, with the destinations that do. */
export function cleaningRoutes(entries: Iterable<RouteEntry>, namespace: string, policy: string) {
  const found: { readonly route: string; readonly destinations: readonly string[] }[] = [];
  for (const entry of entries) {
    if (entry.namespace !== namespace) continue;
    const policies = [...(compileCleanup(entry)?.policies ?? [])];
    const destinations = policies.filter(([, named]) => named === policy).map(([id]) => id);
    if (destinations.length > 0) found.push({ route: entry.route, destinations });
  }
  return found;
}
