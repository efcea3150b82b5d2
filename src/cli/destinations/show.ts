import type { GateView } from "../../custody/gate.ts";
import type { DestinationStatistics } from "../../custody/statistics.ts";
import { printJson } from "../command.ts";
import type { Call } from "../destinations.ts";
import { time } from "../event-story.ts";
import { table } from "../table.ts";
import { destinationOf, isShared } from "./named.ts";

/** `davit destinations get`: one with its statistics. @returns the exit code */
export async function show({ ids: [text = ""], access, io, format }: Call): Promise<number> {
  const found = await destinationOf(access, text);
  const { namespace, destination, statistics } = found;
  const name = access.destinationName(destination);
  if (format === "json") {
    printJson(io, { namespace, ...statistics, destination: name });
    return 0;
  }
  const lines = [
    `destination ${name}, namespace ${namespace}`,
    ...(isShared(found) ? gateLines(statistics.gate) : []),
    ...copyLines(statistics),
  ];
  io.stdout.write(`${lines.join("\n")}\n`);
  const rows = statistics.hours.map(({ from, delivered, failed }) => [time(from), String(delivered), String(failed)]);
  if (rows.length > 0) io.stdout.write(`\n${table(["HOUR (UTC)", "DELIVERED", "FAILED ATTEMPTS"], rows)}`);
  return 0;
}

function gateLines({ state, reason, changedAt, until, config, ...rest }: GateView): string[] {
  const { consecutiveFailures, failingSince, rampingAt } = rest;
  const because = reason === undefined ? "" : ` (${reason})`;
  const since = changedAt === undefined ? "" : ` since ${time(changedAt)}`;
  return [
    `gate: ${state}${because}${since}${until === undefined ? "" : `, until ${time(until)}`}`,
    ...(config === undefined ? [] : [`limit: ${config.limit} at a time${rampingAt ? `, ${rampingAt} for now` : ""}`]),
    ...(failingSince === undefined
      ? []
      : [`failing: ${consecutiveFailures} attempts in a row, since ${time(failingSince)}`]),
  ];
}

function copyLines({ copies, oldestWaitingAt, lastDeliveredAt }: DestinationStatistics): string[] {
  const { ready, replayed, delayed, active, dead } = copies;
  return [
    `copies: ${ready} ready, ${replayed} replayed, ${delayed} delayed, ${active} under way, ${dead} dead`,
    ...(oldestWaitingAt === undefined ? [] : [`oldest that waits: received ${time(oldestWaitingAt)}`]),
    `last delivered: ${lastDeliveredAt === undefined ? "never" : time(lastDeliveredAt)}`,
  ];
}
