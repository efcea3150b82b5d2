import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { command as cancel } from "../../src/cli/cancel.ts";
import { type Command, CommandError, UsageError } from "../../src/cli/command.ts";
import { command as deadletters } from "../../src/cli/deadletters.ts";
import { command as discard } from "../../src/cli/discard.ts";
import { command as events } from "../../src/cli/events.ts";
import { command as replay } from "../../src/cli/replay.ts";
import {
  destinationPolicy,
  newEvent,
  ROUTE,
  routePolicy,
  settle,
  settlement,
  take,
} from "../../src/custody/conformance/fixtures.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { Janitor } from "../../src/custody/redis/janitor.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import type { RoutePolicy } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

describe("commands on dead letters and events", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let namespace = "";
  const cleanups: (() => unknown)[] = [];
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    namespace = `ns-${randomUUID()}`;
    store = new RedisStore({ url: redis.url });
    await store.start();
  });
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
    store.close();
  });

  const scope = () => ({ instance: "default", namespace });
  const run = async (command: Command, ...args: string[]) => {
    let [stdout, stderr] = ["", ""];
    const io = {
      stdout: { write: (text: string) => void (stdout += text) },
      stderr: { write: (text: string) => void (stderr += text) },
    };
    const code = await command.run([...args, "--redis-url", redis.url, "-n", namespace], io);
    return { code, stdout, stderr };
  };
  const accept = async (eventType = "order", policy: RoutePolicy = routePolicy()) =>
    (await store.inbox(scope()).claim(newEvent({ eventType, policy }))).id;
  const end = async (outcome: "dead" | "delivered", policy: RoutePolicy = routePolicy()) => {
    const outbox = store.outbox(scope(), { policies: () => [] });
    const destination = destinationPolicy({ policy });
    const record = { attempt: 1, at: 1, status: 404, action: "dead" as const, reason: "Status404" };
    const copies = await take(outbox, destination);
    await settle(
      outbox,
      copies.map((copy) => settlement(copy, outcome, { record })),
      destination,
    );
  };
  /** What a worker does, for as long as the test lasts. */
  const startJanitor = () => {
    const client = connect(redis.url, { enableOfflineQueue: true });
    const janitor = new Janitor(client, tagOf(scope()), { policies: () => [] });
    janitor.start(async () => undefined);
    cleanups.push(
      () => janitor.stop(),
      () => client.disconnect(),
    );
  };
  const state = async (id: string) => (await store.ledger(scope()).event(id))?.copies[0]?.state;

  test("dead letters are listed by filters, as a table or JSON, over as many pages as it takes", async () => {
    const ids: string[] = [];
    for (const type of ["order", "order", "invoice"]) {
      ids.push(await accept(type));
      await end("dead");
      await sleep(2);
    }
    const { stdout } = await run(deadletters, "--type", "ord*", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject([
      { eventId: ids[0], reason: "Status404", eventType: "order" },
      { eventId: ids[1] },
    ]);
    expect((await run(deadletters, "--route", ROUTE, "--limit", "1")).stdout.split("\n")).toHaveLength(3);
    expect((await run(deadletters, "--destination", `${ROUTE}/orders`, "--reason", "Status5*")).stdout).toMatch(
      /^EVENT ID.*\n$/,
    );
    expect((await run(deadletters, "--to", "1h", "-o", "json")).stdout).toBe("[]\n");
  });

  test("a replay by filter is previewed, and followed to its end", async () => {
    const ids = [await accept(), await accept()];
    await end("dead");
    expect((await run(replay, "--route", ROUTE, "--from", "1h", "--dry-run")).stdout).toBe(
      "would replay 2 dead letters\n",
    );
    expect(await state(ids[0] ?? "")).toBe("dead");
    startJanitor();
    const done = await run(replay, "--route", ROUTE, "--from", "1h", "--rate", "1000");
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(
      /^replay [0-9a-f]{20} begins: 2 dead letters, at most 1000 a second\ndone: 2 replayed\n$/,
    );
    expect(done.stderr).toMatch(/done: 2 of 2 \(100 %\)/);
    expect(await Promise.all(ids.map(state))).toEqual(["waiting", "waiting"]);
  });

  test("a replay is paused, resumed, cancelled and listed by its id; a key finds it again", async () => {
    await accept();
    await end("dead");
    const start = () => run(replay, "--route", ROUTE, "--key", "k", "--detach");
    const { stdout } = await start();
    const id = /replay (\w+) begins/.exec(stdout)?.[1] ?? "";
    expect((await start()).stdout).toContain(`replay ${id} goes on`);
    await expect(run(replay, "--route", ROUTE, "--key", "k", "--rate", "7")).rejects.toThrow("use another key");
    expect((await run(replay, "pause", id)).stdout).toMatch(/paused +0\/1/);
    expect((await run(replay, "resume", id)).stdout).toMatch(/running/);
    expect(await run(replay, "cancel", id)).toMatchObject({ code: 0 });
    expect(await run(replay, "resume", id), "it has ended").toMatchObject({ code: 1 });
    expect(JSON.parse((await run(replay, "list", "-o", "json")).stdout)).toMatchObject([{ id, state: "cancelled" }]);
    expect(await run(replay, "status", "none")).toMatchObject({ code: 1 });
    expect(await run(replay, "--route", ROUTE, "--key", "k"), "following a cancelled one").toMatchObject({ code: 1 });
  });

  test("a replay of everything must be asked for", async () => {
    await expect(run(replay)).rejects.toThrow(UsageError);
    await expect(run(discard, "--yes")).rejects.toThrow(UsageError);
    await expect(run(cancel, "--yes")).rejects.toThrow(UsageError);
    await expect(run(replay, "--all", "--rate", "0")).rejects.toThrow("--rate");
    expect(await run(replay, "--all", "--dry-run")).toMatchObject({ code: 0 });
  });

  test("one event is replayed, or it is said why not", async () => {
    const id = await accept();
    expect((await run(replay, id)).stdout).toContain("nothing replayed: it is waiting, not dead");
    await end("dead");
    expect(await run(replay, id)).toMatchObject({ code: 0, stdout: `${id}: replayed to 1 destination(s)\n` });
    expect((await run(replay, id, "--destination", "x")).stdout).toContain("it has no destination x");
  });

  test("dead letters are discarded only with --yes, and restored", async () => {
    const id = await accept();
    await end("dead");
    const filter = ["--reason", "Status4*"];
    expect((await run(discard, ...filter)).stdout).toBe("would be discarded: 1. Nothing was done: add --yes\n");
    expect(await state(id)).toBe("dead");
    expect((await run(discard, ...filter, "--yes")).stdout).toBe("1 discarded\n");
    expect(await state(id)).toBe("discarded");
    expect((await run(discard, ...filter, "--restore", "--yes")).stdout).toBe("1 restored\n");
    expect(await run(discard, id)).toMatchObject({ code: 0, stdout: `${id}: 1 discarded\n` });
    expect(await run(discard, id)).toMatchObject({
      code: 1,
      stdout: `${id}: nothing discarded: it is discarded, not dead\n`,
    });
    expect(await run(discard, id, "--restore")).toMatchObject({ code: 0 });
    expect(await state(id)).toBe("dead");
  });

  test("waiting copies are cancelled only with --yes; one under way is left alone, and said", async () => {
    const [id, running] = [await accept(), await accept("late")];
    expect((await run(cancel, "--route", ROUTE, "--type", "order")).stdout).toContain("would be cancelled: 1.");
    expect((await run(cancel, "--route", ROUTE, "--type", "order", "--yes")).stdout).toBe("1 cancelled\n");
    expect(await state(id)).toBe("cancelled");
    await take(store.outbox(scope(), { policies: () => [] }));
    const refused = await run(cancel, running);
    expect(refused).toMatchObject({ code: 1, stderr: "1 left alone: a request is under way\n" });
  });

  test("events are listed by state, type, destination and time", async () => {
    const delivered = await accept("order");
    await end("delivered");
    const waiting = await accept("invoice");
    const ids = async (...args: string[]) =>
      (JSON.parse((await run(events, "--route", ROUTE, "-o", "json", ...args)).stdout) as { id: string }[]).map(
        ({ id }) => id,
      );
    expect(await ids()).toEqual([waiting, delivered]);
    expect(await ids("--state", "delivered")).toEqual([delivered]);
    expect(await ids("--type", "inv*", "--since", "1h")).toEqual([waiting]);
    expect(await ids("--until", "1h")).toEqual([]);
    expect(await ids("--destination", "orders", "--state", "waiting")).toEqual([waiting]);
    await expect(run(events, "--route", ROUTE, "--state", "lost")).rejects.toThrow("there are waiting");
  });

  test("events after a sequence come without a gap, or it is said that there is one", async () => {
    const policy = routePolicy({ retention: { ...routePolicy().retention, maxEvents: 2 } });
    const first = await accept("order", policy);
    const page = async (after: string) => {
      const { stdout } = await run(events, "--route", ROUTE, "--after", after, "-o", "json");
      return JSON.parse(stdout) as { events: { id: string }[]; next: number; more: boolean };
    };
    const { events: listed, next, more } = await page("0");
    expect({ id: listed[0]?.id, more }).toEqual({ id: first, more: false });
    const second = await accept("order", policy);
    expect((await page(String(next))).events).toMatchObject([{ id: second }]);
    await end("delivered", policy);
    for (let i = 0; i < 4; i++) {
      await accept("order", policy);
      await end("delivered", policy);
    }
    const gap = page(String(next));
    await expect(gap).rejects.toThrow(CommandError);
    await expect(gap).rejects.toThrow(/CursorExpired: .* --after \d+ are/);
    await expect(run(events, "--route", ROUTE, "--after", "0", "--state", "dead")).rejects.toThrow(UsageError);
  });
});
