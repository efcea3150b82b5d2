import { expect, test } from "vitest";
import { sleep } from "../../lib/timers.ts";
import { ManualTimers } from "../../lib/testing.ts";
import { StoreError } from "../store/port.ts";
import { StoreLimiter } from "./limiter.ts";
import { keyGroups } from "./listing.ts";
import { mapAhead } from "./map-ahead.ts";
import { OLD, World } from "./testing.ts";

const PREFIX = "warehouses/wh-1/";

test("while a batch is deleted the next one is asked about and the next page fetched, and no more than that", async () => {
  const timers = new ManualTimers();
  const world = new World(timers);
  for (let key = 0; key < 20_000; key += 1) world.store.put(`${PREFIX}k${String(key).padStart(6, "0")}`, { at: OLD });
  let release: () => void = () => undefined;
  world.store.faults.before = async ({ verb }) => {
    if (verb === "delete") await new Promise<void>((resolve) => (release = resolve));
  };
  const begin = { pass: "Delete" as const, round: 1 };
  world.addRun({ snapshot: { batchSize: 100 }, status: { checkpoint: begin } });
  const runner = world.runner();
  runner.start();
  await timers.advance(0);
  expect(world.calls("delete")).toBe(1);
  expect(world.calls("head")).toBeGreaterThanOrEqual(250);
  expect(world.calls("head")).toBeLessThanOrEqual(310);
  expect(world.calls("listVersions")).toBe(2);
  for (let batch = 0; batch < 12; batch += 1) {
    release();
    // oxlint-disable-next-line no-await-in-loop -- one batch after the other
    await timers.advance(0);
  }
  expect(world.calls("delete")).toBe(13);
  expect(world.calls("head")).toBeLessThanOrEqual(1_510);
  expect(world.calls("listVersions")).toBe(3);
  const stopped = runner.stop();
  release();
  await timers.advance(0);
  await stopped;
});

test("the nearer the next batch is to being known, the fewer versions are asked about side by side", async () => {
  const timers = new ManualTimers();
  const world = new World(timers);
  for (let key = 0; key < 900; key += 1) world.store.put(`${PREFIX}k${String(key).padStart(6, "0")}`, { at: OLD });
  const answers: (() => void)[] = [];
  let release: () => void = () => undefined;
  world.store.faults.before = async ({ verb }) => {
    if (verb === "head") await new Promise<void>((resolve) => answers.push(resolve));
    if (verb === "delete") await new Promise<void>((resolve) => (release = resolve));
  };
  world.addRun({ snapshot: { batchSize: 100 }, status: { checkpoint: { pass: "Delete", round: 1 } } });
  const runner = world.runner();
  runner.start();
  await timers.advance(0);
  /** Answers so many; how many were asked at most at a time from then on. */
  const answer = async (number: number) => {
    for (let left = number; left > 0; left -= 1) {
      answers.shift()?.();
      await timers.advance(0);
    }
    return answers.length;
  };
  expect(answers).toHaveLength(32);
  expect(await answer(99)).toBe(32);
  expect(world.calls("delete")).toBe(0);
  expect(await answer(1)).toBe(32);
  expect(world.calls("delete")).toBe(1);
  // Of the batch after it three quarters are known, then all.
  expect(await answer(75)).toBe(14);
  expect(await answer(30)).toBe(2);
  expect(await answer(50)).toBe(2);
  release();
  await timers.advance(0);
  expect(world.calls("delete")).toBe(2);
  expect(answers.length).toBeGreaterThan(16);
  const stopped = runner.stop();
  release();
  await timers.advance(0);
  await stopped;
});

test("while a checkpoint is written the bucket and the next versions are asked about, and nothing is deleted", async () => {
  const timers = new ManualTimers();
  const world = new World(timers);
  for (let key = 0; key < 50; key += 1) world.store.put(`${PREFIX}k${String(key).padStart(6, "0")}`, { at: OLD });
  world.store.faults.before = async ({ verb }) => {
    if (verb === "delete") await sleep(timers, 1_500);
  };
  let release: () => void = () => undefined;
  world.records.faults.before = async (_run, { checkpoint }) => {
    if (checkpoint?.pass === "Delete" && checkpoint.lastKey !== undefined)
      await new Promise<void>((resolve) => (release = resolve));
  };
  world.addRun({ snapshot: { batchSize: 10 }, status: { checkpoint: { pass: "Delete", round: 1 } } });
  const runner = world.runner();
  runner.start();
  await timers.advance(0);
  expect([world.calls("bucketState"), world.calls("delete")]).toEqual([1, 1]);
  await timers.advance(1_500);
  expect([world.calls("bucketState"), world.calls("delete")]).toEqual([2, 1]);
  expect(world.calls("head")).toBeGreaterThanOrEqual(20);
  await timers.advance(500);
  expect(world.calls("delete")).toBe(1);
  release();
  await timers.advance(0);
  expect([world.calls("bucketState"), world.calls("delete")]).toEqual([2, 2]);
  // What was asked for more than a second ago is asked again.
  await timers.advance(1_500);
  await timers.advance(1_000);
  expect([world.calls("bucketState"), world.calls("delete")]).toEqual([3, 2]);
  world.store.versioning = "Suspended";
  release();
  await timers.advance(0);
  expect([world.calls("bucketState"), world.calls("delete")]).toEqual([4, 2]);
  release();
  await timers.advance(0);
  expect(world.status()).toMatchObject({ phase: "Failed", reason: "VersioningSuspended" });
  await runner.stop();
});

test("a bucket that could not be asked about while the checkpoint was written is asked about before the next batch", async () => {
  const timers = new ManualTimers();
  const world = new World(timers);
  for (let key = 0; key < 20; key += 1) world.store.put(`${PREFIX}k${String(key).padStart(6, "0")}`, { at: OLD });
  world.store.faults.before = async ({ verb, nth }) => {
    if (verb === "delete") await sleep(timers, 1_500);
    if (verb === "bucketState" && nth === 2) throw new StoreError("AccessDenied", "not now", { retryable: false });
  };
  world.records.faults.before = async (_run, { checkpoint }) => {
    if (checkpoint?.pass === "Delete" && checkpoint.lastKey !== undefined) await sleep(timers, 100);
  };
  world.addRun({ snapshot: { batchSize: 10 }, status: { checkpoint: { pass: "Delete", round: 1 } } });
  const runner = world.runner();
  runner.start();
  await timers.advance(1_500);
  expect([world.calls("bucketState"), world.calls("delete")]).toEqual([2, 1]);
  await timers.advance(100);
  expect([world.calls("bucketState"), world.calls("delete")]).toEqual([3, 2]);
  await timers.advance(2_000);
  expect(world.status()).toMatchObject({ phase: "Succeeded" });
  await runner.stop();
});

test("nothing of a key is deleted before the page after it is here", async () => {
  const timers = new ManualTimers();
  const world = new World(timers);
  // The first page ends within a key whose versions are all to go.
  for (let key = 0; key < 300; key += 1)
    for (let version = 0; version < 7; version += 1)
      world.store.put(`${PREFIX}k${String(key).padStart(6, "0")}`, { at: OLD + version });
  const seen: string[] = [];
  let pages = 0;
  world.store.faults.page = (page) => {
    pages += 1;
    seen.push(page.next?.key ?? "end");
    return page;
  };
  const early: string[] = [];
  world.store.faults.before = ({ verb, versions = [] }) => {
    const marker = seen.at(-1);
    if (verb === "delete") early.push(...versions.filter(({ key }) => key === marker).map(({ key }) => key));
  };
  world.addRun({ status: { checkpoint: { pass: "Delete", round: 1 } } });
  const runner = world.runner();
  runner.start();
  await timers.advance(0);
  expect(pages).toBeGreaterThan(3);
  expect(early).toEqual([]);
  expect(world.left()).toEqual([]);
  expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 2_100 }, checkpoint: { round: 1 } });
  await runner.stop();
});

test("a store that begins a listing after a key with that key again has no say in what is settled", async () => {
  const timers = new ManualTimers();
  const entry = (key: string) =>
    ({ key, versionId: "1", type: "Version", isLatest: true, lastModified: OLD, size: 1 }) as const;
  const store = new World(timers).store;
  store.listVersions = () => Promise.resolve({ entries: ["a", "b", "c"].map((key) => entry(`${PREFIX}${key}`)) });
  const options = {
    store,
    limiter: new StoreLimiter({ timers }),
    signal: new AbortController().signal,
    prefix: PREFIX,
  };
  const keys: string[] = [];
  for await (const groups of keyGroups({ ...options, after: `${PREFIX}b` })) keys.push(...groups.map(({ key }) => key));
  expect(keys).toEqual([`${PREFIX}c`]);
});

test("a key of more versions than are held stays as a whole, and is counted", async () => {
  const timers = new ManualTimers();
  const world = new World(timers);
  for (const key of ["a", "a", "c", "c"]) world.store.put(`${PREFIX}${key}`, { at: OLD });
  const many = Array.from({ length: 10_001 }, (_, at) => {
    const versionId = String(at);
    return { key: `${PREFIX}b`, versionId, type: "Version", isLatest: at === 0, lastModified: OLD, size: 1 } as const;
  });
  world.store.listVersions = ({ after, maxEntries }) => {
    const all = [...world.store.all(), ...many].toSorted((x, y) => (x.key < y.key ? -1 : Number(x.key > y.key)));
    const from = all.findIndex(({ key, versionId }) => key === after?.key && versionId === after.versionId) + 1;
    const entries = all.slice(from, from + maxEntries);
    const last = entries.at(-1);
    const hasNext = last !== undefined && from + entries.length < all.length;
    return Promise.resolve({ entries, ...(hasNext && { next: { key: last.key, versionId: last.versionId } }) });
  };
  world.addRun();
  const runner = world.runner();
  runner.start();
  await timers.advance(0);
  expect(world.status()).toMatchObject({
    phase: "CompletedWithSkips",
    reason: "TooManyVersions",
    counters: { listed: 10_005, expired: 10_005, deleted: 4, kept: 10_001 },
    reasons: { TooManyVersions: 10_001 },
    samples: [{ key: `${PREFIX}b`, reason: "TooManyVersions" }],
  });
  await runner.stop();
});

test("items that are mapped ahead come in their order, however long each takes", async () => {
  async function* source() {
    for (let at = 0; at < 20; at += 1) yield await Promise.resolve(at);
  }
  const slow = (at: number) => new Promise<number>((resolve) => setTimeout(() => resolve(at), at % 3));
  const out: number[] = [];
  for await (const at of mapAhead(source(), { weight: () => 1, most: 4, map: slow })) out.push(at);
  expect(out).toEqual(Array.from({ length: 20 }, (_, at) => at));
});

test("as many are mapped at a time as the pace says of those that are done, and always one", async () => {
  async function* source() {
    for (let at = 0; at < 12; at += 1) yield await Promise.resolve(at);
  }
  const open: (() => void)[] = [];
  const map = (at: number) => new Promise<number>((resolve) => open.push(() => resolve(at)));
  const items = mapAhead(source(), { weight: () => 1, most: 9, map, pace: (done) => 3 - done });
  const first = items.next();
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const seen: number[] = [];
  for (let answered = 0; answered < 12; answered += 1) {
    await settled();
    seen.push(open.length);
    open.shift()?.();
  }
  // The first is taken at once; then one more is done each time.
  expect(seen).toEqual([3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
  expect(await first).toMatchObject({ value: 0 });
  await items.return(undefined);
});

test("what fails ahead fails in its turn, and whoever stops early begins nothing more", async () => {
  let ended = false;
  let begun = 0;
  async function* source() {
    try {
      for (let at = 0; ; at += 1) yield await Promise.resolve(at);
    } finally {
      ended = true;
    }
  }
  const out: number[] = [];
  const map = (at: number) => {
    begun += 1;
    return at === 2 ? Promise.reject(new Error("third")) : Promise.resolve(at);
  };
  const reading = async () => {
    for await (const at of mapAhead(source(), { weight: () => 1, most: 3, map })) out.push(at);
  };
  await expect(reading()).rejects.toThrow("third");
  expect(out).toEqual([0, 1]);
  expect(ended).toBe(true);
  expect(begun).toBeLessThanOrEqual(6);
});
