import type { WebhookRouteStatus } from "../../../api/generated/webhook-route.ts";
import type { RingKey } from "../../../routes/entry.ts";
import { timestamp } from "./conditions.ts";
import type { RouteStatusInput } from "./status-input.ts";

type Rotation = NonNullable<WebhookRouteStatus["rotation"]>;
type Destinations = NonNullable<WebhookRouteStatus["destinations"]>;

const KEY_STATES = { current: "Current", previous: "Previous", next: "Next" } as const;

/** The signing keys of a route by their ids, which tell nothing about their values. */
export function rotationStatus(
  keys: readonly Omit<RingKey, "value">[],
  rotation: RouteStatusInput["rotation"],
): Rotation | undefined {
  const signing = keys.filter(({ use }) => use === "Signing");
  if (signing.length === 0) return undefined;
  const overlapEndsAt = rotation?.overlapEndsAt;
  return {
    keys: signing.map(({ id, since, notAfter, state }) => ({
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
