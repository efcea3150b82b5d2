import { expect, test } from "vitest";
import { QueueRetirement } from "./queue-retirement.ts";

const UNSERVED = { key: "shop/orders", namespace: "shop", route: "00000000000000aa" };

function setUp() {
  const retired: string[] = [];
  const state = { now: 1_000, isDown: false };
  const retirement = new QueueRetirement({
    now: () => state.now,
    retire: async (namespace, route) => {
      if (state.isDown) throw new Error("Redis is away");
      retired.push(`${namespace} ${route}`);
    },
  });
  return { retired, state, retirement };
}

test("the queue of workers that went is cleared once their Pods have ended, and once only", async () => {
  const { retired, state, retirement } = setUp();
  expect(await retirement.missing(UNSERVED)).toEqual({ requeueAfterMs: 90_000 });
  state.now += 89_000;
  expect(await retirement.missing(UNSERVED)).toEqual({ requeueAfterMs: 1_000 });
  expect(retired).toEqual([]);
  state.now += 1_000;
  expect(await retirement.missing(UNSERVED)).toEqual({});
  expect(await retirement.missing(UNSERVED)).toEqual({});
  expect(retired).toEqual(["shop 00000000000000aa"]);
});

test("workers that come back keep their queue, and are waited for anew when they go again", async () => {
  const { retired, state, retirement } = setUp();
  await retirement.missing(UNSERVED);
  state.now += 90_000;
  retirement.present(UNSERVED.key);
  expect(await retirement.missing(UNSERVED)).toEqual({ requeueAfterMs: 90_000 });
  expect(retired).toEqual([]);
});

test("a store that is away is asked again", async () => {
  const { retired, state, retirement } = setUp();
  await retirement.missing(UNSERVED);
  state.now += 90_000;
  state.isDown = true;
  await expect(retirement.missing(UNSERVED)).rejects.toThrow("away");
  state.isDown = false;
  await retirement.missing(UNSERVED);
  expect(retired).toHaveLength(1);
});
