import type { GateReason, GateTransition } from "../custody/gate.ts";
import type { AttemptRecord, TakenCopy } from "../custody/port.ts";
import type { RetryPolicy } from "../routes/entry.ts";
import type { Obstacle } from "./destinations.ts";
import { MAX_HINT_MS, parseRetryAfter } from "./retry-after.ts";
import type { Decision, FinishedAttempt } from "./retry-policy.ts";

/** What a sentence about an attempt is made of. */
export interface AttemptStory {
  /** The destination's name in its route. */
  readonly destination: string;
  readonly copy: Pick<TakenCopy, "attempt">;
  readonly result: FinishedAttempt;
  readonly decision: Decision;
  readonly policy: RetryPolicy;
  /** Unix ms, as for the decision. */
  readonly now: number;
}

/**
 * One line for an attempt, as an engineer on call would tell it:
 * `destination acme-eu returned 429; Retry-After 120 parsed; attempt 3 put back for 120 s`.
 */
export function attemptLine(story: AttemptStory): string {
  const parts = [`destination ${story.destination} ${whatHappened(story.result)}`, hintPart(story), fate(story)];
  return parts.filter((part) => part !== undefined).join("; ");
}

/** After the store confirmed the outcome: only then is the original let go. */
export function confirmedLine(othersGoOn: boolean): string {
  return othersGoOn ? "original released after confirmation; others continued" : "original released after confirmation";
}

/** The store refused an outcome because the copy was another process's by then. */
export const FENCED_LINE =
  "outcome came too late: the copy had been given to another process, which may have sent it again";

/** The store did not confirm a turn. */
export function turnFailedLine(settles: number): string {
  return settles === 0
    ? "the store did not answer a request for work; it is repeated"
    : `the store did not confirm ${count(settles, "outcome")}; kept and repeated until it does, nothing is sent again`;
}

export function turnRecoveredLine(failedForMs: number): string {
  return `the store confirms again after ${seconds(failedForMs)}`;
}

const OBSTACLES: Readonly<Record<Obstacle, string>> = {
  unknown: "is not in this worker's configuration",
  suspended: "is suspended",
  unsigned:
    "must be signed and has no key that can be used (Secret or key missing, empty, not labelled or past its end): nothing is sent unsigned",
};

/** Copies of a destination to which nothing may be sent are not touched. */
export function leftAloneLine(destination: string, obstacle: Obstacle): string {
  return `destination ${destination} ${OBSTACLES[obstacle]}; its copies are left in their lane`;
}

/** A copy whose destination was taken out of its route while it waited. */
export function removedLine(destination: string, route: string): string {
  return `route ${route} has no destination ${destination} any more; dead letter: DestinationRemoved, to be replayed once it has it again`;
}

const GATE_REASONS: Readonly<Record<GateReason, string>> = {
  RetryAfter: "it asked for a pause with Retry-After",
  OperatorHold: "held by an operator",
  OperatorEnabled: "enabled by an operator",
  ConsecutiveFailures: "it failed too often in a row",
  ProbeFailed: "the probe failed",
  Probing: "one attempt is let through as a probe",
  Recovered: "the probe was answered; it comes back to its limit step by step",
  Gone: "it answered 410, which says that it is gone for good; its copies wait until it is enabled",
};

/** A gate changed: `destination ~acme is Held for 120 s (was Closed): it asked for a pause with Retry-After; 3 attempts in a row without success`. */
export function gateLine({ destination, from, to, at, until, reason, consecutiveFailures }: GateTransition): string {
  const span = until === undefined ? "" : ` for ${seconds(until - at)}`;
  const failures =
    consecutiveFailures === 0 ? "" : `; ${count(consecutiveFailures, "attempt")} in a row without success`;
  return `destination ${destination} is ${to}${span} (was ${from}): ${GATE_REASONS[reason]}${failures}`;
}

/** A copy for an id that no WebhookDestination has. */
export function noSuchLine(destination: string, route: string): string {
  return `route ${route} sent an event to ${destination}, and no WebhookDestination that it selects has that id; dead letter: NoSuchDestination, to be replayed once one has it`;
}

/** The worker stops, and the store has not taken what it had to say. */
export function storeLostLine(outcomes: number): string {
  return `stopping without the store, which has not confirmed for too long: ${count(outcomes, "outcome")} unsaid; leases run out by themselves, and those copies are then sent again`;
}

export function stoppingLine(running: number, handedBack: number): string {
  return `stopping: nothing more is taken; ${count(handedBack, "request")} not yet written handed back, ${count(running, "request")} awaited`;
}

/** What went wrong, for the log of the copy: a code, with a handler's own words where there are some. */
export function errorText(result: FinishedAttempt): string | undefined {
  if (result.type === "error") return result.code;
  if (result.type === "runRefused") return `${result.reason}: ${result.detail}`;
  return result.type === "handlerError" ? `${result.code}: ${result.detail}` : undefined;
}

/** The class of a status for metrics: `2xx` … `5xx`, `none` without a response. */
export function codeClass(record: Pick<AttemptRecord, "status">): string {
  const hundreds = Math.floor((record.status ?? 0) / 100);
  return hundreds >= 1 && hundreds <= 5 ? `${hundreds}xx` : "none";
}

function whatHappened(result: FinishedAttempt): string {
  if (result.type === "response") return `returned ${result.status}`;
  if (result.type === "runStarted") return result.isNew ? "made a run" : "had the run already";
  return result.type === "handled" ? "handled it" : `failed: ${errorText(result)}`;
}

function hintPart({ result, policy, now, decision }: AttemptStory): string | undefined {
  if (result.type !== "response" || result.retryAfter === undefined || decision.outcome !== "retry") return undefined;
  const shown = result.retryAfter.slice(0, 40);
  const hint = parseRetryAfter(result.retryAfter, now);
  if (hint === undefined) return `Retry-After "${shown}" ignored`;
  const most = Math.min(policy.maxRetryAfterMs, MAX_HINT_MS);
  if (hint > most) return `Retry-After ${shown} parsed and cut to ${seconds(most)}`;
  return decision.delaySource === "retry_after"
    ? `Retry-After ${shown} parsed`
    : `Retry-After ${shown} parsed, the route's own delay is longer`;
}

function fate({ decision, copy }: AttemptStory): string {
  if (decision.outcome === "delivered") return `attempt ${copy.attempt} delivered`;
  if (decision.outcome === "dead") return `attempt ${copy.attempt} was the last, dead letter: ${decision.reason}`;
  return `attempt ${copy.attempt} put back for ${seconds(decision.delayMs)}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
