import { expect, test } from "vitest";
import type { Backlog } from "../../custody/backlog.ts";
import { workOf } from "./scale-work.ts";

const backlog = (part: Partial<Backlog>): Backlog => ({
  waiting: 0,
  active: 0,
  delayed: 0,
  dead: 0,
  oldestWaitingSeconds: 0,
  oldestDelayedSeconds: 0,
  ...part,
});

test("workers are asked for by what they could do: not by copies that wait for a destination whose gate is shut", () => {
  const shut = (["Held", "Open", "Disabled"] as const).map((gate) => backlog({ waiting: 1_000, active: 1, gate }));
  expect(workOf([backlog({ waiting: 7, active: 2, gate: "HalfOpen" }), backlog({ waiting: 1 }), ...shut])).toBe(13);
});

test("there is always one while something waits for its time, or for a gate that opens by itself", () => {
  expect(workOf([backlog({ delayed: 5 })])).toBe(1);
  expect(workOf([backlog({ waiting: 5, gate: "Open" })])).toBe(1);
  expect(workOf([backlog({ waiting: 5, delayed: 5, gate: "Disabled" })])).toBe(0);
  expect(workOf([backlog({})])).toBe(0);
});
