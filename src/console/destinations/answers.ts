import type { GateView } from "../../custody/gate.ts";
import type { DestinationStatistics } from "../../custody/statistics.ts";
import type { KnownDestination } from "../directory.ts";
import { isoTime } from "../filters.ts";

/** `{ name: time }`, or nothing when it is not known. */
function timed(name: string, ms: number | undefined): object {
  return ms === undefined ? {} : { [name]: isoTime(ms) };
}

/** A gate for callers. */
export function gateAnswer(gate: GateView): object {
  const { state, reason, consecutiveFailures, changedAt, failingSince, until, rampingAt, config } = gate;
  return {
    state,
    ...(reason !== undefined && { reason }),
    consecutiveFailures,
    ...timed("changedAt", changedAt),
    ...timed("failingSince", failingSince),
    ...timed("until", until),
    ...(rampingAt !== undefined && { rampingAt }),
    ...(config !== undefined && { limit: config.limit }),
    ...(config?.rate !== undefined && { rateLimit: config.rate }),
    ...(config?.disableAfter !== undefined && { disableAfter: config.disableAfter }),
  };
}

/** What is known of a destination, with what ended since yesterday's beginning (UTC). */
export function statisticsAnswer({ id, name, suspended }: KnownDestination, known: DestinationStatistics): object {
  const { at, gate, copies, oldestWaitingAt, oldestDelayedAt, lastDeliveredAt, hours } = known;
  return {
    id,
    name,
    suspended,
    at: isoTime(at),
    gate: gateAnswer(gate),
    copies,
    ...timed("oldestWaitingAt", oldestWaitingAt),
    ...timed("oldestDelayedAt", oldestDelayedAt),
    ...timed("lastDeliveredAt", lastDeliveredAt),
    delivered: hours.reduce((sum, hour) => sum + hour.delivered, 0),
    failed: hours.reduce((sum, hour) => sum + hour.failed, 0),
    hours: hours.map((hour) => ({ ...hour, from: isoTime(hour.from) })),
  };
}

/** A destination in a list. */
export function summaryAnswer({ id, name, suspended }: KnownDestination, known: DestinationStatistics): object {
  const { gate, copies, oldestWaitingAt, lastDeliveredAt } = known;
  return {
    id,
    name,
    suspended,
    state: gate.state,
    ...(gate.reason !== undefined && { reason: gate.reason }),
    ...timed("until", gate.until),
    waiting: copies.ready + copies.replayed,
    delayed: copies.delayed,
    active: copies.active,
    dead: copies.dead,
    ...timed("oldestWaitingAt", oldestWaitingAt),
    ...timed("lastDeliveredAt", lastDeliveredAt),
  };
}
