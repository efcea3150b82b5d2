import type { GateEffect } from "../custody/gate.ts";
import { parseRetryAfter } from "./retry-after.ts";
import type { FinishedAttempt } from "./retry-policy.ts";

/** RFC 9110 §15.5.11: gone, and likely for good. */
const GONE = 410;
/** Statuses whose `Retry-After` speaks of the whole destination: RFC 6585 §4, RFC 9110 §15.6.4. */
const MAY_HOLD: ReadonlySet<number> = new Set([429, 503]);
/** Like 5xx, they say that the destination cannot serve now; the other 4xx and 3xx are answers to this one message. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * What an attempt says about its destination, whatever becomes of the copy.
 *
 * @param now Unix ms, for a date in `Retry-After`. A hint of 0, or one that cannot be read, holds nothing
 */
export function gateEffect(result: FinishedAttempt, now: number): GateEffect {
  switch (result.type) {
    case "handled":
    case "runStarted":
      return { type: "success" };
    case "handlerError":
      return { type: result.permanent ? "rejected" : "failure" };
    case "runRefused":
      return { type: "rejected" };
    case "error":
      // A fault of this process says nothing about the destination.
      return { type: result.code === "internal_error" ? "neutral" : "failure" };
    default:
      return ofResponse(result.status, result.retryAfter, now);
  }
}

function ofResponse(status: number, retryAfter: string | undefined, now: number): GateEffect {
  if (status >= 200 && status < 300) return { type: "success" };
  if (status === GONE) return { type: "gone" };
  const holdMs = MAY_HOLD.has(status) ? (parseRetryAfter(retryAfter, now) ?? 0) : 0;
  if (holdMs > 0) return { type: "hold", holdMs };
  return { type: NOT_NOW.has(status) || (status >= 500 && status < 600) ? "failure" : "rejected" };
}
