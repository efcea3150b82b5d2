import { describe, expect, test } from "vitest";
import type { LeaderElector } from "../kube/leader-elector.ts";
import { silentLogger } from "../observability/logger.ts";
import { Manager, type Cache } from "./manager.ts";

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
const settle = () => new Promise((resolve) => setImmediate(resolve));

function cache(log: string[]) {
  let fill: () => void = () => undefined;
  const synced = new Promise<void>((resolve) => {
    fill = resolve;
  });
  const one: Cache = {
    type: { plural: "secrets" },
    namespace: undefined,
    hasSynced: false,
    lastContact: 0,
    idleMs: 1_000,
    refusal: undefined,
    synced,
    relist: () => Promise.resolve(undefined),
    run: async (signal) => {
      log.push("cache starts");
      await untilAborted(signal);
      log.push("cache ends");
    },
  };
  return { one, fill: () => fill() };
}

test("controllers begin when the required caches are full, and end before the caches do", async () => {
  const log: string[] = [];
  const manager = new Manager({ logger: silentLogger });
  const { one, fill } = cache(log);
  manager.require(one);
  manager.whileLeading(async (signal) => {
    log.push("controller starts");
    await untilAborted(signal);
    await settle();
    log.push("controller ends");
  });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  await settle();
  expect(log).toEqual(["cache starts"]);
  fill();
  await settle();
  stop.abort();
  await ended;
  expect(log).toEqual(["cache starts", "controller starts", "controller ends", "cache ends"]);
});

test("a stop before the caches are full ends it without a controller having begun", async () => {
  const log: string[] = [];
  const manager = new Manager({ logger: silentLogger });
  manager.require(cache(log).one);
  manager.whileLeading(async () => void log.push("controller starts"));
  await manager.run(AbortSignal.abort());
  expect(log).not.toContain("controller starts");
});

test("what runs alongside is not waited for, and may be added later", async () => {
  const log: string[] = [];
  const manager = new Manager({ logger: silentLogger });
  manager.alongside(untilAborted);
  manager.whileLeading(async (signal) => {
    manager.alongside(async (inner) => {
      log.push("added");
      await untilAborted(inner);
      log.push("ended");
    });
    await untilAborted(signal);
  });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  await settle();
  expect(log).toEqual(["added"]);
  stop.abort();
  await ended;
  expect(log).toEqual(["added", "ended"]);
});

test("a controller that fails ends everything with its error", async () => {
  const log: string[] = [];
  const manager = new Manager({ logger: silentLogger });
  const { one, fill } = cache(log);
  fill();
  manager.require(one);
  manager.whileLeading(() => Promise.reject(new Error("a mistake")));
  await expect(manager.run(new AbortController().signal)).rejects.toThrow("a mistake");
  expect(log).toEqual(["cache starts", "cache ends"]);
});

test("readiness is that of the required caches", () => {
  const manager = new Manager({ logger: silentLogger });
  expect(manager.readiness()).toEqual({ ok: true, problems: [] });
  manager.require(cache([]).one);
  expect(manager.readiness()).toEqual({ ok: false, problems: ["secrets in all namespaces: not listed yet"] });
});

describe("a term", () => {
  const elected = () => {
    const elector = { run: (signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>) => lead(signal) };
    return new Manager({ logger: silentLogger, elector: elector as unknown as LeaderElector });
  };

  test("begins with lists that began in it: nothing leads before they are in", async () => {
    const log: string[] = [];
    const { one, fill } = cache(log);
    let isIn: (refusal?: string) => void = () => undefined;
    let prepared: () => void = () => undefined;
    const manager = elected();
    manager.require({ ...one, relist: () => new Promise((resolve) => void (isIn = resolve)) });
    manager.beforeLeading(() => new Promise((resolve) => void (prepared = resolve)));
    manager.whileLeading(async () => void log.push("leads"));
    const ended = manager.run(new AbortController().signal);
    fill();
    await settle();
    isIn();
    await settle();
    expect(log).not.toContain("leads");
    prepared();
    await ended;
    expect(log).toContain("leads");
  });

  test("whose lists are refused leads nothing, and ends when told to", async () => {
    const log: string[] = [];
    const { one, fill } = cache(log);
    const manager = elected();
    manager.require({ ...one, relist: () => Promise.resolve("Forbidden") });
    manager.whileLeading(async () => void log.push("leads"));
    const stop = new AbortController();
    const ended = manager.run(stop.signal);
    fill();
    await settle();
    stop.abort();
    await ended;
    expect(log).not.toContain("leads");
  });
});
