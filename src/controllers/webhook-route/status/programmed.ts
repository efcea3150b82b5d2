import { conditionOf, type ConditionContext } from "./conditions.ts";
import type { Finding, GatewayPod } from "./status-input.ts";

/** A gateway Pod that has said nothing for so long, ms, is named and no longer waited for. */
export const SILENT_AFTER_MS = 30_000;

/** Most Pods that a message names. */
const MAX_NAMED = 5;

/**
 * `Programmed`: every ready gateway Pod has reached the entry's `seq`. Once true it stays true for its generation: a Pod that starts later does
 * not become ready before it has the routes, and a rotation of a key is no news about the spec.
 *
 * @param seq of the published entry; `undefined`: nothing is published
 */
export function programmed(
  seq: number | undefined,
  pods: readonly GatewayPod[] | undefined,
  context: ConditionContext,
): Finding {
  const fresh = lookAt(seq, pods ?? [], context.now);
  const before = conditionOf(context.previous, "Programmed");
  if (fresh.status === "True" || before?.status !== "True" || before.observedGeneration !== context.generation)
    return fresh;
  return { status: "True", reason: "Reconciled", message: before.message };
}

function lookAt(seq: number | undefined, pods: readonly GatewayPod[], now: number): Finding {
  if (seq === undefined) return { status: "Unknown", reason: "Progressing", message: "nothing is published yet" };
  const ready = pods.filter(({ isReady }) => isReady);
  const silent = ready.filter(({ renewedAt }) => renewedAt === undefined || now - renewedAt >= SILENT_AFTER_MS);
  const heard = ready.filter((pod) => !silent.includes(pod));
  if (heard.length === 0) return notReached(ready.length === 0 ? "no gateway Pod is ready" : `${names(silent)} silent`);
  const rejecting = heard.filter(({ rejectedSeq }) => rejectedSeq === seq);
  if (rejecting.length > 0) {
    const message = `${names(rejecting)} cannot use this version of the route and serve the one before: upgrade the gateways`;
    return { status: "False", reason: "EntryRejected", message };
  }
  const behind = heard.filter(({ servedSeq = 0 }) => servedSeq < seq);
  if (behind.length > 0) return notReached(`${names(behind)} not there yet`);
  const left = silent.length === 0 ? "" : `; left out: ${names(silent)} silent for ${SILENT_AFTER_MS / 1_000} s`;
  return { status: "True", reason: "Reconciled", message: `every ready gateway Pod serves it${left}` };
}

function notReached(message: string): Finding {
  return { status: "False", reason: "GatewayNotReached", message };
}

function names(pods: readonly GatewayPod[]): string {
  const all = pods.map(({ name }) => name).toSorted();
  const more = all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : "";
  return `gateway Pod ${all.slice(0, MAX_NAMED).join(", ")}${more}`;
}
