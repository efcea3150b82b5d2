import type { Clock } from "../lib/clock.ts";
import type { Readiness } from "../observability/http.ts";

/** What readiness needs to know of a reflector. */
export interface Watched {
  readonly type: { readonly plural: string };
  readonly namespace: string | undefined;
  readonly hasSynced: boolean;
  readonly lastContact: number;
  readonly idleMs: number;
  readonly refusal: string | undefined;
}

/** Ready while every one of these has listed its objects and heard from the server within twice its idle timeout. */
export function readinessOf(watched: Iterable<Watched>, clock: Clock): Readiness {
  const now = clock.monotonic();
  const problems = [...watched].map((one) => problemOf(one, now)).filter((problem) => problem !== undefined);
  return { ok: problems.length === 0, problems };
}

function problemOf(one: Watched, now: number): string | undefined {
  const what = `${one.type.plural} in ${one.namespace === undefined ? "all namespaces" : `namespace ${one.namespace}`}`;
  if (one.refusal) return `${what}: the API server refuses to list them (${one.refusal})`;
  if (!one.hasSynced) return `${what}: not listed yet`;
  const silentMs = now - one.lastContact;
  if (silentMs < 2 * one.idleMs) return undefined;
  return `${what}: nothing heard from the API server for ${Math.round(silentMs / 1_000)} s`;
}
