import type { Clock } from "../lib/clock.ts";
import { normalisePath, type MatchTable } from "../routes/match-table.ts";
import type { RouteTable } from "./server.ts";

/**
 * Serves a match table to the gateway. Only paths in normal form are looked up: a route's path is exact, and a path that some proxy
 * and the gateway read differently must not reach it.
 */
export function routeTable(table: MatchTable, clock: Pick<Clock, "now">): RouteTable {
  return {
    lookup(host, path) {
      if (mayBeAbnormal(path) && normalisePath(path) !== path) return undefined;
      const match = table.match(host, path, clock.now());
      if (match.type === "route") return match.entry;
      return match.type === "vanished" ? "vanished" : undefined;
    },
  };
}

function mayBeAbnormal(path: string): boolean {
  return path.includes("%") || path.includes("/.");
}
