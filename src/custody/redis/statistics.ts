import type { Page } from "../operations.ts";
import type { DestinationStatistics, DestinationSummary, HourlyOutcomes, Statistics } from "../statistics.ts";
import type { CustodyClient } from "./connection.ts";
import { ask } from "./errors.ts";
import { parseGate } from "./gates.ts";
import { RedisLedger } from "./ledger.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Numbers of a destination in the reply, before texts and hours. */
const NUMBERS = 8;

/** What `statistics` says of one destination. */
type Row = [...numbers: (number | string)[], yesterday: string[], today: string[]];

/** The script's reply: the store's time and a row for each destination. */
export type StatisticsReply = [now: string, ...rows: Row[]];

/** Statistics of a namespace on Redis. */
export class RedisStatistics implements Statistics {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #ledger: RedisLedger;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#ledger = new RedisLedger(redis, tag);
  }

  async of(destinations: readonly string[]): Promise<ReadonlyMap<string, DestinationStatistics>> {
    const [now, ...rows] = await ask(() => this.#redis.statistics(this.#prefix, ...destinations));
    return new Map(
      destinations.map((destination, index) => [destination, readRow(destination, Number(now), rows[index] ?? [])]),
    );
  }

  async list({ limit, cursor = "" }: Parameters<Statistics["list"]>[0]): Promise<Page<DestinationSummary>> {
    // One more tells whether there is another page.
    const ids = await ask(() => this.#redis.destinations(this.#prefix, cursor, limit + 1));
    const page = ids.slice(0, limit);
    const backlogs = await this.#ledger.stats(page);
    const last = page.at(-1);
    return {
      items: [...backlogs].map(([destination, backlog]) => ({ destination, backlog })),
      ...(last !== undefined && ids.length > limit && { next: last }),
    };
  }
}

function readRow(destination: string, at: number, row: Row | []): DestinationStatistics {
  const numbers = row.slice(0, NUMBERS).map(Number);
  const number = (place: number) => numbers[place] ?? 0;
  const [state, seq, config] = row.slice(NUMBERS, NUMBERS + 3) as string[];
  const [yesterday, today] = row.slice(NUMBERS + 3) as string[][];
  const midnight = Math.floor(at / DAY_MS) * DAY_MS;
  return {
    destination,
    at,
    gate: parseGate(state, config, seq),
    copies: { ready: number(0), replayed: number(1), delayed: number(2), active: number(3), dead: number(4) },
    ...timesOf(number(5), number(6), number(7)),
    hours: [...hoursOf(midnight - DAY_MS, yesterday), ...hoursOf(midnight, today)],
  };
}

/** Those that are known: 0 is none. */
function timesOf(oldestWaitingAt: number, oldestDelayedAt: number, lastDeliveredAt: number) {
  return {
    ...(oldestWaitingAt !== 0 && { oldestWaitingAt }),
    ...(oldestDelayedAt !== 0 && { oldestDelayedAt }),
    ...(lastDeliveredAt !== 0 && { lastDeliveredAt }),
  };
}

/** Reads fields like `9d`, the hour of the day and what is counted, with their counts. */
function hoursOf(midnight: number, fields: readonly string[] = []): readonly HourlyOutcomes[] {
  const counts = new Map<string, number>();
  for (let i = 0; i + 1 < fields.length; i += 2) counts.set(fields[i] ?? "", Number(fields[i + 1]));
  const hours = [...new Set([...counts.keys()].map((field) => Number.parseInt(field, 10)))].toSorted((a, b) => a - b);
  return hours.map((hour) => ({
    from: midnight + hour * HOUR_MS,
    delivered: counts.get(`${hour}d`) ?? 0,
    failed: counts.get(`${hour}f`) ?? 0,
  }));
}
