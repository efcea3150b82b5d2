import { describe, expect, test } from "vitest";
import { parseInfo, settingProblems, stateProblems } from "./monitor.ts";

const DURABLE = new Map([
  ["appendonly", "yes"],
  ["appendfsync", "always"],
  ["no-appendfsync-on-rewrite", "no"],
  ["maxmemory-policy", "noeviction"],
  ["maxmemory", "1048576"],
]);

const info = (change: Record<string, string>) =>
  new Map(
    Object.entries({
      aof_enabled: "1",
      aof_rewrite_in_progress: "0",
      aof_rewrite_scheduled: "0",
      aof_last_bgrewrite_status: "ok",
      aof_last_write_status: "ok",
      aof_base_size: "0",
      ...change,
    }),
  );

describe("durability", () => {
  test("has nothing against the settings of the contract", () => {
    expect(settingProblems(DURABLE)).toEqual([]);
  });

  test("names each setting that is not reported", () => {
    expect(settingProblems(new Map())).toHaveLength(DURABLE.size);
  });

  test("takes a server without a rewrite for one that has its file", () => {
    expect(stateProblems(info({}), false)).toEqual([]);
  });

  test("does not trust a first rewrite of a server that was never seen with its file", () => {
    expect(stateProblems(info({ aof_rewrite_in_progress: "1" }), false)).toHaveLength(1);
    expect(stateProblems(info({ aof_rewrite_in_progress: "1", aof_base_size: "89" }), false)).toHaveLength(1);
    expect(stateProblems(info({ aof_rewrite_scheduled: "1" }), false)).toHaveLength(1);
    expect(stateProblems(info({ aof_last_bgrewrite_status: "err" }), false)).toHaveLength(1);
  });

  test("does not mind the rewrite of a file that was seen", () => {
    expect(stateProblems(info({ aof_rewrite_in_progress: "1" }), true)).toEqual([]);
  });

  test("minds a failed write", () => {
    expect(stateProblems(info({ aof_last_write_status: "err" }), true)).toHaveLength(1);
  });

  test("reads INFO", () => {
    expect(parseInfo("# Memory\r\nused_memory:5\r\nx:a:b\r\n")).toEqual(
      new Map([
        ["used_memory", "5"],
        ["x", "a:b"],
      ]),
    );
  });
});
