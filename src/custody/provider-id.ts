import type { EventView } from "./port.ts";

/** How to find the events of a provider's id; `providerIdQuery` in `routes/delivery-id.ts` makes one from a route's entry. */
export interface ProviderIdQuery {
  /** Route key. */
  readonly route: string;
  readonly id: string;
  /** Marks that the id gives when the delivery consists of it alone, see {@link DedupeMark.key}. */
  readonly marks: readonly Buffer[];
  /** Every window in which a mark may lie, ms. */
  readonly windows: readonly number[];
  /** Lower-case names of kept headers that may hold the id. */
  readonly headers: readonly string[];
}

/** An event that bears a provider's id. */
export interface ProviderIdMatch {
  readonly eventId: string;
  /** Unix ms. */
  readonly receivedAt: number;
  /** Its record; `duplicates` in it counts the repetitions. `undefined`: removed by retention, only the mark knows of it. */
  readonly event: EventView | undefined;
}
