import type { TestRedis } from "../../support/redis.ts";
import { type Group, idsOf } from "./plan.ts";
import { Stage } from "./stage.ts";

/** Events that are spread evenly over the destinations of a group. */
export interface Side {
  readonly group: Group;
  readonly events: number;
}

/**
 * Deliveries a second from the first to the last. The events are on disk before a worker starts, so no ticket of theirs is there: the worker writes and takes them
 * in this time.
 */
async function deliveriesPerSecond(redis: TestRedis, { group, events }: Side): Promise<number> {
  const namespace = "throughput";
  const ids = idsOf(group);
  return Stage.run(redis, async (stage) => {
    await stage.queue(namespace, events, (at) => [ids[at % ids.length] ?? ""]);
    const worker = await stage.worker(namespace, [group]);
    try {
      const arrived = stage.arrived(group, events);
      await worker.ask("start");
      return events / (await arrived).seconds;
    } finally {
      await worker.stop();
    }
  });
}

/** Deliveries a second of each side in each round. */
export type Rates<Name extends string> = Readonly<Record<Name, readonly number[]>>;

/** Both sides in turn, several times over. */
export async function benchSides<Name extends string>(
  redis: TestRedis,
  sides: Readonly<Record<Name, Side>>,
  rounds: number,
): Promise<Rates<Name>> {
  const names = Object.keys(sides) as Name[];
  const rates = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of names) rates[name].push(await deliveriesPerSecond(redis, sides[name]));
  }
  return rates;
}
