import { expect, test } from "vitest";
import { Collector } from "./collector.ts";

function collecting(most: number) {
  const batches: string[][] = [];
  const collector = new Collector<string, string>(most, async (items) => {
    batches.push([...items]);
    if (items.includes("bad")) throw new Error("refused");
    return items.map((item) => item.toUpperCase());
  });
  return { batches, collector };
}

test("what is added in one turn of the event loop is carried out together, and each gets its own result", async () => {
  const { batches, collector } = collecting(64);
  const results = await Promise.all(["a", "b", "c"].map((item) => collector.add(item)));
  expect(results).toEqual(["A", "B", "C"]);
  expect(batches).toEqual([["a", "b", "c"]]);
});

test("a batch has no more than the given number", async () => {
  const { batches, collector } = collecting(2);
  await Promise.all(["a", "b", "c"].map((item) => collector.add(item)));
  expect(batches).toEqual([["a", "b"], ["c"]]);
});

test("what comes later is a batch of its own", async () => {
  const { batches, collector } = collecting(64);
  await collector.add("a");
  await collector.add("b");
  expect(batches).toEqual([["a"], ["b"]]);
});

test("a batch that fails fails for each of it, and for no other", async () => {
  const { collector } = collecting(2);
  const results = await Promise.allSettled(["a", "bad", "c"].map((item) => collector.add(item)));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
});
