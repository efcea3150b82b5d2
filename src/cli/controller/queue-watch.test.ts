import { expect, test } from "vitest";
import { QueueWatch } from "./queue-watch.ts";

/** What each look says about telling; looks are `[Unix seconds, answers]`. */
function told(...looks: readonly [number, boolean][]): boolean[] {
  const watch = new QueueWatch(0);
  return looks.map(([at, answers]) => watch.note(answers, at * 1_000));
}

test("routes are told once when Redis has been away for a minute, and once when it is back", () => {
  expect(told([5, false], [60, false], [65, false], [70, false], [75, true], [80, true])).toEqual([
    false,
    false,
    true,
    false,
    true,
    false,
  ]);
});

test("a gap of less than a minute is told to nobody", () => {
  expect(told([5, false], [60, false], [64, true], [70, false], [125, false])).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("looks that come late still tell", () => {
  expect(told([5, false], [64, false], [90, false])).toEqual([false, false, true]);
});

test("since when Redis has been away is known from the first look that found it so", () => {
  const watch = new QueueWatch(0);
  watch.note(false, 5_000);
  watch.note(false, 70_000);
  expect(watch.state).toEqual({ isReachable: false, since: 5_000 });
});
