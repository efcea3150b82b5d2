import type { Inbox } from "../../../src/custody/port.ts";
import { RedisStore } from "../../../src/custody/redis/store.ts";
import type { TestRedis } from "../../support/redis.ts";
import { type Child, startChild } from "../child.ts";
import type { FairnessOrder, FairnessReport } from "../servers/fairness-sink.ts";
import { type FairnessSettings, type Group, planPolicy, scopeOf } from "./plan.ts";
import { queue } from "./queue.ts";

/** A store and a receiver; workers come and go. */
export class Stage {
  readonly redis: TestRedis;
  readonly store: RedisStore;
  readonly #sink: Child<{ port: number }>;
  readonly #policy = planPolicy();

  private constructor(redis: TestRedis, store: RedisStore, sink: Child<{ port: number }>) {
    this.redis = redis;
    this.store = store;
    this.#sink = sink;
  }

  /** Runs something on an empty Redis with a receiver of its own, and ends both. */
  static async run<T>(redis: TestRedis, use: (stage: Stage) => Promise<T>): Promise<T> {
    await redis.client().flushall();
    const store = new RedisStore({ url: redis.url });
    const sink = await startChild<{ port: number }>("servers/fairness-sink.ts", { redisUrl: redis.url });
    try {
      await store.start();
      return await use(new Stage(redis, store, sink));
    } finally {
      await sink.stop();
      store.close();
    }
  }

  inbox(namespace: string): Inbox {
    return this.store.inbox(scopeOf(namespace));
  }

  /** Claims events as fast as they are confirmed; `idsOf`: the destinations of the n-th. */
  async queue(namespace: string, events: number, destinationsOf: (at: number) => readonly string[]): Promise<void> {
    await queue(this.inbox(namespace), this.#policy, events, destinationsOf);
  }

  /** Resolves when so many deliveries for a group have arrived from now on. */
  async arrived(group: Group, requests: number): Promise<FairnessReport> {
    const order: FairnessOrder = { type: "await", path: `/${group.name}`, requests };
    return this.#sink.ask<FairnessReport>(order);
  }

  /** From now on the slow destination says that it is gone. */
  async slowIsGone(): Promise<void> {
    const order: FairnessOrder = { type: "gone" };
    await this.#sink.ask(order);
  }

  /** A worker process for a namespace that has taken nothing yet: ask it to `start`. */
  async worker(namespace: string, groups: readonly Group[]): Promise<Child<unknown>> {
    const { url: redisUrl } = this.redis;
    const sinkUrl = `http://127.0.0.1:${this.#sink.ready.port}/`;
    const settings: FairnessSettings = { redisUrl, sinkUrl, namespace, groups };
    return startChild("servers/fairness-worker.ts", settings);
  }
}
