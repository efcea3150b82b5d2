import type { WebhookRouteStatus } from "../../api/generated/webhook-route.ts";
import type { RingKey } from "../../routes/entry.ts";
import { timestamp } from "./conditions.ts";
import type { BacklogSample, RouteStatusInput } from "./status-input.ts";

type Rotation = NonNullable<WebhookRouteStatus["rotation"]>;
type Destinations = NonNullable<WebhookRouteStatus["destinations"]>;
type Backlog = NonNullable<WebhookRouteStatus["backlog"]>;

const KEY_STATES = { current: "Current", previous: "Previous", next: "Next" } as const;

/** The keys of a route by their ids, which tell nothing about their values. */
export function rotationStatus(
  keys: readonly Omit<RingKey, "value">[],
  rotation: RouteStatusInput["rotation"],
): Rotation | undefined {
  if (keys.length === 0) return undefined;
  const overlapEndsAt = rotation?.overlapEndsAt;
  return {
    keys: keys.map(({ id, since, notAfter, state }) => ({
      id,
      since: timestamp(since),
      ...(notAfter !== undefined && { notAfter: timestamp(notAfter) }),
      state: KEY_STATES[state],
    })),
    ...(overlapEndsAt !== undefined && { overlapEndsAt: timestamp(overlapEndsAt) }),
  };
}

/** Destinations of the entry, each with what is known of its circuit; what is not known stays as it was. */
export function destinationsStatus(
  names: readonly string[],
  circuits: RouteStatusInput["circuits"],
  previous: WebhookRouteStatus["destinations"],
): Destinations {
  return names.map((name) => {
    const known = circuits?.find((circuit) => circuit.name === name);
    if (known === undefined) return previous?.find((destination) => destination.name === name) ?? { name };
    const { circuit, disabledSince, reason } = known;
    return {
      name,
      circuit,
      ...(disabledSince !== undefined && { disabledSince: timestamp(disabledSince) }),
      ...(reason !== undefined && { reason }),
    };
  });
}

/** One significant digit, so that a status is not written for every event: 7 → 7, 12 → 10, 96 → 100. Never 0 for something. */
export function oneDigit(count: number): number {
  if (count < 10) return Math.max(0, Math.round(count));
  const unit = 10 ** Math.floor(Math.log10(count));
  return Math.round(count / unit) * unit;
}

/**
 * How the backlog does. `Stuck`: something waits, and nothing ended since the earlier look. Without an earlier look the state stays as it was.
 */
export function backlogStatus(
  { current, earlier }: NonNullable<RouteStatusInput["backlog"]>,
  previous: WebhookRouteStatus["backlog"],
): Backlog {
  const waiting = oneDigit(current.waiting);
  return {
    state: backlogState(current, earlier, previous?.state),
    waiting,
    deadLetters: oneDigit(current.deadLetters),
  };
}

function backlogState(
  current: BacklogSample,
  earlier: BacklogSample | undefined,
  previous: Backlog["state"] = "Draining",
): NonNullable<Backlog["state"]> {
  if (current.waiting === 0) return "Empty";
  if (earlier === undefined) return previous === "Empty" ? "Draining" : previous;
  if (earlier.waiting > 0 && current.finished === earlier.finished) return "Stuck";
  return oneDigit(current.waiting) > oneDigit(earlier.waiting) ? "Growing" : "Draining";
}
