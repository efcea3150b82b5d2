import { expect, test } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

test("a full map lets go of what was used least recently", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c"), map.size]).toEqual([1, undefined, 3, 2]);
  map.set("a", 4);
  map.delete("c");
  expect([map.get("a"), map.get("c"), map.size]).toEqual([4, undefined, 1]);
});
