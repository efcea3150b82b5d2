import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { custodyConformance } from "../../src/custody/conformance/suite.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { Janitor, type OperatedCopies } from "../../src/custody/redis/janitor.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisShelves, ShelfDirectory } from "../../src/custody/redis/shelves.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

describe("custody on Redis", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  custodyConformance(async () => {
    const scope = { instance: "default", namespace: randomUUID() };
    const stores = [new RedisStore({ url: redis.url })];
    const clients: ReturnType<typeof connect>[] = [];
    await stores[0]?.start();
    return {
      inbox: (stores[0] as RedisStore).inbox(scope),
      ledger: (stores[0] as RedisStore).ledger(scope),
      outbox: async (policies) => {
        const store = new RedisStore({ url: redis.url });
        stores.push(store);
        await store.start();
        return store.outbox(scope, { policies: () => policies });
      },
      shelves: (page) => {
        if (page === undefined) return (stores[0] as RedisStore).shelves(scope);
        const client = connect(redis.url, { enableOfflineQueue: true });
        clients.push(client);
        const directory = new ShelfDirectory(client, scope.instance);
        return new RedisShelves(client, tagOf(scope), { directory, namespace: scope.namespace, page });
      },
      operations: (stores[0] as RedisStore).operations(scope),
      notices: (stores[0] as RedisStore).notices(scope),
      statistics: (stores[0] as RedisStore).statistics(scope),
      tend: async (policies) => {
        const client = connect(redis.url, { enableOfflineQueue: true });
        clients.push(client);
        await client.del(`${tagOf(scope)}:janitor`);
        const told: OperatedCopies[] = [];
        const janitor = new Janitor(client, tagOf(scope), {
          policies: () => policies,
          onOperated: (one) => told.push(one),
        });
        await janitor.pass();
        await janitor.advanceReplays();
        return told;
      },
      close: async () => {
        for (const client of clients) client.disconnect();
        for (const store of stores) store.close();
      },
    };
  });
});
