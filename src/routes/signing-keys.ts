import type { RingKey, RouteEntry } from "./entry.ts";

/** The ring that a route signs its deliveries with, one for all its destinations; `undefined` when it signs none. */
export function signingKeysOf(entry: RouteEntry): readonly RingKey[] | undefined {
  return [...entry.destinations, entry.delivery].find((one) => one?.signing !== undefined)?.signing?.keys;
}

/** The entry with this ring in each destination that signs. */
export function withSigningKeys(entry: RouteEntry, keys: readonly RingKey[]): RouteEntry {
  const destinations = entry.destinations.map(({ signing, ...destination }) =>
    signing === undefined ? destination : { ...destination, signing: { ...signing, keys } },
  );
  const { delivery } = entry;
  if (delivery?.signing === undefined) return { ...entry, destinations };
  return { ...entry, destinations, delivery: { ...delivery, signing: { ...delivery.signing, keys } } };
}
