import type { TakenCopy } from "../custody/port.ts";
import type { RetryPolicy } from "../routes/entry.ts";
import type { AttemptResult } from "./attempt.ts";
import { MAX_HINT_MS, parseRetryAfter } from "./retry-after.ts";

export type DelaySource = "schedule" | "backoff" | "retry_after";

/** What becomes of a copy after an attempt. */
export type Decision =
  | { readonly outcome: "delivered" }
  | { readonly outcome: "retry"; readonly delayMs: number; readonly delaySource: DelaySource }
  /**
   * `AttemptsExhausted`, `GiveUpAfter`, `AddressNotAllowed` (one of those two, after an attempt that the guard over outgoing connections refused),
   * `Unrecoverable`, `RunConflict`, `InvalidRunRequest`, or `Status404` and the like. What an answer says of the destination itself (410: it is gone for good) is `gateEffect`'s to tell.
   */
  | { readonly outcome: "dead"; readonly reason: string };

export interface DecisionContext {
  /** Unix ms on the store's clock. */
  readonly now: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Of the destination: a deadline moved by a hint leaves room for one attempt. */
  readonly timeoutMs: number;
}

/** An attempt that reached somebody or something. */
export type FinishedAttempt = Exclude<AttemptResult, { readonly type: "notSent" }>;

/** A policy whose delay is 0 still never makes a hot loop, ms. */
const DELAY_FOR_ZERO_MS = 1_000;
/** Full jitter may draw next to nothing. */
const MIN_DELAY_MS = 100;
const RETRYABLE_4XX: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Decides after an attempt: 2xx is success; 408, 425, 429, 5xx and every error without a response (DNS, connection, TLS, timeout, an address that is not
 * allowed) are tried again until attempts or time are used up; any other status, 3xx included, is final. The next attempt is at the later of the policy's delay and `Retry-After`.
 */
export function decide(
  result: FinishedAttempt,
  copy: Pick<TakenCopy, "used" | "firstAttemptAt">,
  policy: RetryPolicy,
  context: DecisionContext,
): Decision {
  if (isSuccess(result)) return { outcome: "delivered" };
  const final = finalReason(result);
  if (final !== undefined) return { outcome: "dead", reason: final };
  if (copy.used >= maxAttempts(policy)) return usedUp(result, "AttemptsExhausted");

  const own = policyDelay(policy, copy.used, context.random);
  const hint = hintOf(result, policy, context.now);
  const delayMs = Math.max(own, hint, own === 0 ? DELAY_FOR_ZERO_MS : MIN_DELAY_MS);
  if (context.now + delayMs > deadline(copy.firstAttemptAt + policy.giveUpAfterMs, hint, context)) {
    return usedUp(result, "GiveUpAfter");
  }
  return { outcome: "retry", delayMs, delaySource: hint > own ? "retry_after" : policy.type };
}

/** Attempts of one budget: a schedule's length and one, or `maxAttempts`. */
export function maxAttempts(policy: RetryPolicy): number {
  return policy.type === "schedule" ? policy.delaysMs.length + 1 : policy.maxAttempts;
}

/** A `Retry-After` that ends after the deadline moves it there, with room for one attempt. Without one nothing does, also when it has passed already. */
function deadline(giveUpAt: number, hint: number, { now, timeoutMs }: DecisionContext): number {
  return hint > 0 && now + hint > giveUpAt ? now + hint + timeoutMs : giveUpAt;
}

/** The reason says what to do about it: time was not short where the address was forbidden. */
function usedUp(result: FinishedAttempt, reason: "AttemptsExhausted" | "GiveUpAfter"): Decision {
  const forbidden = result.type === "error" && result.code === "AddressNotAllowed";
  return { outcome: "dead", reason: forbidden ? "AddressNotAllowed" : reason };
}

function isSuccess(result: FinishedAttempt): boolean {
  return (
    result.type === "handled" ||
    result.type === "runStarted" ||
    (result.type === "response" && result.status >= 200 && result.status < 300)
  );
}

/** Why trying again would not help, if so. */
function finalReason(result: FinishedAttempt): string | undefined {
  if (result.type === "runRefused") return result.reason;
  if (result.type === "handlerError") return result.permanent ? "Unrecoverable" : undefined;
  if (result.type !== "response") return undefined;
  const retryable = RETRYABLE_4XX.has(result.status) || (result.status >= 500 && result.status < 600);
  return retryable ? undefined : `Status${result.status}`;
}

/** ms, whole. `used` is 1 after the first attempt. */
function policyDelay(policy: RetryPolicy, used: number, random: () => number): number {
  if (policy.type === "schedule") {
    const delay = policy.delaysMs[used - 1] ?? policy.delaysMs.at(-1) ?? 0;
    return Math.round(delay * (1 + policy.jitter * (2 * random() - 1)));
  }
  const computed = Math.min(policy.maxMs, policy.initialMs * policy.factor ** (used - 1));
  return Math.round(policy.jitter ? computed * random() : computed);
}

/** ms; 0 when there is no hint or one that lengthens nothing. */
function hintOf(result: FinishedAttempt, policy: RetryPolicy, now: number): number {
  if (result.type !== "response") return 0;
  return Math.min(parseRetryAfter(result.retryAfter, now) ?? 0, policy.maxRetryAfterMs, MAX_HINT_MS);
}
