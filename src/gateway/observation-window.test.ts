import { describe, expect, test } from "vitest";
import { ObservationWindow, ObservationWindows } from "./observation-window.ts";

const MINUTE = 60_000;

describe("what was seen of a route", () => {
  test("is counted over the last five minutes", () => {
    const window = new ObservationWindow();
    for (let minute = 0; minute < 7; minute++) window.add("refused", minute * MINUTE);
    window.add("slow", 6 * MINUTE + 1);
    expect(window.sums(6 * MINUTE + 2)).toEqual({ requests: 0, verified: 0, refused: 5, slow: 1 });
    expect(window.sums(9 * MINUTE)).toMatchObject({ refused: 2 });
    expect(window.sums(60 * MINUTE)).toEqual({ requests: 0, verified: 0, refused: 0, slow: 0 });
  });

  test("is forgotten with the route, and outlives an edit", () => {
    const windows = new ObservationWindows();
    windows.of("a").add("verified", 0);
    windows.of("a").add("requests", 0);
    windows.of("b").add("requests", 0);
    expect(windows.all(0)).toMatchObject([
      { key: "a", verified: 1, requests: 1 },
      { key: "b", requests: 1 },
    ]);
    windows.forget("a");
    expect(windows.all(0)).toMatchObject([{ key: "b" }]);
  });
});
