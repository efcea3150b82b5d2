import type { RetryPolicy, RouteEntry } from "../../routes/entry.ts";

/** Routes whose events die later than this are of no use for a demonstration, ms. */
export const MAX_RETRIES_MS = 60_000;

/** Whether a route can show all that the demonstration shows. */
export function isUsable(entry: RouteEntry): boolean {
  const { verification, dedupe, keys, methods, suspend, destinations, sharedCopies, destinationIdFrom } = entry;
  const isSigned = verification.type === "provider" || verification.type === "hmac";
  const isServed = suspend === "None" && methods.includes("POST") && keys.some(({ state }) => state === "current");
  // Which WebhookDestinations an event reaches, and how they retry, is not all in the route.
  const isOwn = sharedCopies === undefined && destinationIdFrom === undefined;
  const isShort = isOwn && destinations.every(({ retry, target }) => target.type === "http" && fits(retry));
  return isSigned && isServed && isShort && dedupe.sources.length > 0;
}

function fits(retry: RetryPolicy): boolean {
  const delays = delaysOf(retry);
  return delays.length >= 2 && delays.reduce((sum, delay) => sum + delay, 0) <= MAX_RETRIES_MS;
}

/** The delays before each further attempt, at their longest, ms. */
export function delaysOf(retry: RetryPolicy): readonly number[] {
  if (retry.type === "schedule") return retry.delaysMs;
  const { initialMs, factor, maxMs, maxAttempts } = retry;
  return Array.from({ length: maxAttempts - 1 }, (_, index) => Math.min(maxMs, initialMs * factor ** index));
}
