import { describe, expect, it } from "vitest";
import { ProgressBar } from "./progress.ts";

function setup(isTTY: boolean) {
  const written: string[] = [];
  let now = 0;
  const bar = new ProgressBar({ write: (text) => written.push(text), isTTY }, () => now);
  return { bar, written, pass: (ms: number) => (now += ms) };
}

describe("progress", () => {
  it("is drawn over on a terminal", () => {
    const { bar, written, pass } = setup(true);
    bar.show({ done: 0, total: 100, state: "running" });
    pass(2_000);
    bar.show({ done: 50, total: 100, state: "running" });
    bar.end();
    expect(written).toEqual([
      `\r[${".".repeat(30)}] running: 0 of 100 (0 %)\u001b[K`,
      `\r[${"#".repeat(15)}${".".repeat(15)}] running: 50 of 100 (50 %), 25 a second\u001b[K`,
      "\n",
    ]);
  });

  it("is a line for each tenth, each state, and at least every 10 s elsewhere", () => {
    const { bar, written, pass } = setup(false);
    const show = (done: number, state = "running") => bar.show({ done, total: 100, state });
    show(1);
    show(2);
    show(10);
    show(10, "paused");
    pass(10_000);
    show(10, "paused");
    bar.end();
    expect(written.map((line) => line.split(" (")[0])).toEqual([
      "running: 1 of 100",
      "running: 10 of 100",
      "paused: 10 of 100",
      "paused: 10 of 100",
    ]);
  });

  it("is whole when there is nothing to do, and never more than that", () => {
    const { bar, written } = setup(false);
    bar.show({ done: 0, total: 0, state: "done" });
    bar.show({ done: 3, total: 2, state: "more" });
    expect(written).toEqual(["done: 0 of 0 (100 %)\n", "more: 3 of 2 (100 %)\n"]);
  });
});
