import { routeEntry } from "../../../src/gateway/testing.ts";
import { shortHash } from "../../../src/lib/hash.ts";
import type { RouteEntry } from "../../../src/routes/entry.ts";
import { chainRoute } from "../chain/route.ts";
import { TENANT } from "./release.ts";

/** A route `shop/<name>` at `/<name>` that takes unsigned events and delivers them to a URL. */
export function openRoute(name: string, seq: number, url: string, changes: Partial<RouteEntry> = {}): RouteEntry {
  const route = shortHash("a-namespace-uid", name);
  const [destination] = chainRoute(url).destinations;
  if (destination === undefined) throw new Error("the chain's route has no destination");
  return routeEntry({
    seq,
    namespace: TENANT,
    name,
    route,
    path: `/${name}`,
    verification: { type: "none" },
    keys: [],
    payload: { format: "Any", requiredFields: [] },
    response: { status: 202 },
    retention: { deliveredMs: 3_600_000, deadLettersMs: 3_600_000, maxEvents: 100_000, keepBodies: false },
    destinations: [{ ...destination, id: `${route}/orders` }],
    ...changes,
  });
}
