import type { Turned } from "./admission.ts";
import type { PreparedRoute } from "./prepared-route.ts";

/** The served routes for events that come from inside the cluster: found by name, with the limits that hold for the public listener as well. */
export interface InsideDoor {
  /** `unusable`: there is one, and its settings cannot be used. */
  named(namespace: string, name: string): PreparedRoute | "unusable" | undefined;
  /** Routes of a namespace whose events ask for runs of a CleanupPolicy, by their keys, with the destinations that do. */
  cleaning(
    namespace: string,
    policy: string,
  ): readonly { readonly route: string; readonly destinations: readonly string[] }[];
  /**
   * Takes a place in what the route has in flight, unless it is suspended, the store takes nothing or too much waits; {@link leave} gives it back. Rates and
   * address ranges are rules for the outside.
   */
  enter(route: PreparedRoute): Turned | undefined;
  leave(route: PreparedRoute): void;
}
