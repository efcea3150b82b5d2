import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { shortHash } from "../lib/hash.ts";
import type { DestinationEntry, RouteEntry } from "./entry.ts";
import { entryOf } from "./testing.ts";
import {
  decodeWorkerConfig,
  encodeWorkerConfig,
  MAX_PART_BYTES,
  mergeDestinations,
  mergeWorkerConfigs,
  type WorkerConfig,
  WorkerConfigTooLargeError,
  workerConfigs,
} from "./worker-config.ts";

const entry = entryOf();

function routes(count: number, paddingBytes = 0): RouteEntry[] {
  return Array.from({ length: count }, (_, n) => ({
    ...entry,
    route: shortHash(String(n)),
    name: `route-${n}`,
    seq: n + 1,
    parameters: { padding: "x".repeat(paddingBytes) },
  }));
}

function destinations(count: number, paddingBytes = 0): DestinationEntry[] {
  const [inline] = entry.destinations as [DestinationEntry];
  return Array.from({ length: count }, (_, n) => ({
    ...inline,
    id: `~customer-${n}`,
    seq: n + 1,
    headers: { "x-padding": shortHash(String(n)).repeat(Math.ceil(paddingBytes / 16)) },
  }));
}

const byRoute = (a: RouteEntry, b: RouteEntry) => (a.route < b.route ? -1 : 1);
const [first] = workerConfigs("default", "shop", routes(3));
const bytesOf = (value: unknown) => gzipSync(JSON.stringify(value));

describe("workerConfigs", () => {
  it("puts few routes into one part, with the highest stamp of all and no key of what comes in", () => {
    const parts = workerConfigs("default", "shop", routes(3));
    expect(parts).toHaveLength(1);
    expect(parts[0]).toMatchObject({ seq: 3, parts: 1, instance: "default", namespace: "shop" });
    expect(parts[0]?.routes.map(({ keys }) => keys)).toEqual([[], [], []]);
    expect(JSON.stringify(parts)).not.toContain(entry.keys[0]?.value);
  });

  it("spreads many routes over all parts, each route in exactly one, and every part says how many there are", () => {
    const all = routes(200, 4_000);
    const parts = workerConfigs("default", "shop", all);
    expect(parts).toHaveLength(32);
    expect(new Set(parts.map((part) => part.parts))).toEqual(new Set([32]));
    expect(new Set(parts.map(({ seq }) => seq))).toEqual(new Set([200]));
    expect(parts.flatMap((part) => part.routes.map(({ route }) => route)).toSorted()).toEqual(
      all.map(({ route }) => route).toSorted(),
    );
    expect(Math.max(...parts.map((part) => encodeWorkerConfig(part).length))).toBeLessThan(1_048_576);
  });

  it("gives equal bytes for the same routes in another order", () => {
    const bytes = (all: RouteEntry[]) => workerConfigs("default", "shop", all).map(encodeWorkerConfig);
    expect(bytes(routes(5).toReversed())).toEqual(bytes(routes(5)));
  });

  it("spreads 10,000 WebhookDestinations over the parts by their ids, and each part fits a Secret", () => {
    const all = destinations(10_000, 300);
    const parts = workerConfigs("default", "shop", routes(3), all);
    expect(parts).toHaveLength(32);
    expect(Math.max(...parts.map((part) => part.destinations?.length ?? 0))).toBeLessThan(450);
    expect(Math.max(...parts.map((part) => JSON.stringify(part).length))).toBeLessThan(MAX_PART_BYTES);
    expect(mergeDestinations(parts)).toHaveLength(10_000);
    expect(new Set(parts.map(({ seq }) => seq))).toEqual(new Set([10_000]));
  });

  it("rewrites one part when one of many WebhookDestinations changes", () => {
    const all = destinations(600, 1_000);
    const changed = all.map((one, n) => (n === 0 ? { ...one, timeoutMs: 1 } : one));
    const [before = [], after = []] = [all, changed].map((some) =>
      workerConfigs("default", "shop", routes(3), some).map((part) => JSON.stringify(part)),
    );
    expect(before).toHaveLength(32);
    expect(after.filter((part, n) => part !== before[n])).toHaveLength(1);
  });

  it("refuses a part that no Secret can hold", () => {
    const [part] = workerConfigs("default", "shop", [], destinations(1));
    const padding = randomBytes(1_100_000).toString("base64");
    const huge = { ...part, destinations: destinations(1).map((one) => ({ ...one, headers: { padding } })) };
    expect(() => encodeWorkerConfig(huge as WorkerConfig)).toThrow(WorkerConfigTooLargeError);
  });

  it("tells of labels those that a route asks for, and none when none does", () => {
    const labelled = destinations(2).map((one, index) => ({
      ...one,
      labels: index === 0 ? { tier: "gold", note: "n" } : { note: "n" },
    }));
    const asking = { ...entry, destinationIdFrom: "json:/to", destinationLabels: { tier: "gold" } };
    const labelsOf = (of: readonly RouteEntry[]) =>
      workerConfigs("default", "shop", of, labelled)[0]?.destinations?.map(({ labels }) => labels);
    expect(labelsOf([asking])).toEqual([{ tier: "gold" }, {}]);
    expect(labelsOf([entry])).toEqual([undefined, undefined]);
  });

  it("has no destinations where there are none, as before there were any", () => {
    expect(workerConfigs("default", "shop", routes(1))[0]).not.toHaveProperty("destinations");
    expect(mergeDestinations(workerConfigs("default", "shop", routes(1)))).toEqual([]);
  });

  it("takes the newer of a destination that is in two parts while their number changes", () => {
    const [part] = workerConfigs("default", "shop", [], destinations(1));
    const newer = { ...part, destinations: destinations(1).map((one) => ({ ...one, seq: 9, timeoutMs: 9 })) };
    const merged = mergeDestinations([newer as WorkerConfig, part as WorkerConfig]);
    expect(merged.map(({ seq, timeoutMs }) => [seq, timeoutMs])).toEqual([[9, 9]]);
  });

  it("is one part without routes where there are none, so that a worker knows that it has nothing to do", () => {
    expect(workerConfigs("default", "shop", [])).toMatchObject([{ parts: 1, seq: 0, routes: [] }]);
  });
});

describe("decodeWorkerConfig", () => {
  it("reads what was encoded", () => {
    expect(decodeWorkerConfig(encodeWorkerConfig(first as WorkerConfig))).toEqual({
      ok: true,
      config: JSON.parse(JSON.stringify(first)) as unknown,
    });
  });

  it.each([
    ["no gzip", Buffer.from("{}")],
    ["no JSON", gzipSync("{")],
    ["null", bytesOf(null)],
    ["no routes", bytesOf({ ...first, routes: undefined })],
    ["no minReader", bytesOf({ ...first, minReader: "1" })],
    ["no number of parts", bytesOf({ ...first, parts: undefined })],
    ["more parts than there can be", bytesOf({ ...first, parts: 33 })],
    ["a bomb", bytesOf({ ...first, bomb: "0".repeat(65 * 1_048_576) })],
  ])("calls malformed what is %s", (_, bytes) => {
    expect(decodeWorkerConfig(bytes)).toMatchObject({ ok: false, code: "Malformed" });
  });

  it("calls too new what needs a newer reader", () => {
    expect(decodeWorkerConfig(bytesOf({ ...first, minReader: 2 }))).toMatchObject({
      ok: false,
      code: "TooNew",
      message: expect.stringContaining("upgrade the workers") as string,
    });
  });
});

describe("mergeWorkerConfigs", () => {
  it("makes the whole of all parts", () => {
    const all = routes(200, 4_000);
    const merged = mergeWorkerConfigs(workerConfigs("default", "shop", all));
    expect(merged.toSorted(byRoute)).toEqual(all.map((one) => ({ ...one, keys: [] })).toSorted(byRoute));
  });

  it("takes the newer of two versions of a route, wherever it lies", () => {
    const part = (seq: number): WorkerConfig => ({ ...(first as WorkerConfig), routes: [{ ...entry, seq }] });
    expect(mergeWorkerConfigs([part(7), part(8), part(6)]).map(({ seq }) => seq)).toEqual([8]);
  });
});
