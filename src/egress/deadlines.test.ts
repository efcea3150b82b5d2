import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadlines, type Expiring, RESOLUTION_MS } from "./deadlines.ts";

const clock = { now: () => Date.now(), monotonic: () => Date.now() };
const at = (deadline: number): Expiring & { fired: number[] } => {
  const fired: number[] = [];
  return { deadline, fired, onDeadline: () => void fired.push(Date.now()) };
};

describe("Deadlines", () => {
  beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
  afterEach(() => void vi.useRealTimers());

  it("fires each item once, never early and at most one step late", () => {
    const deadlines = new Deadlines(clock);
    const items = [1, 49, 50, 51, 1_000, 15_000, 60_000].map((ms) => at(1_000_000 + ms));
    for (const item of items) deadlines.add(item);
    vi.advanceTimersByTime(61_000);
    for (const { fired, deadline } of items) {
      expect(fired.length).toBe(1);
      expect(fired[0]).toBeGreaterThanOrEqual(deadline);
      expect(fired[0]).toBeLessThanOrEqual(deadline + RESOLUTION_MS);
    }
  });

  it("does not fire what was removed, and stops its timer when nothing is left", () => {
    const deadlines = new Deadlines(clock);
    const item = at(1_000_500);
    deadlines.add(item);
    expect(vi.getTimerCount()).toBe(1);
    deadlines.remove(item);
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(item.fired).toEqual([]);
  });

  it("fires at the next step what had passed when it was added, and can remove it too", () => {
    const deadlines = new Deadlines(clock);
    const past = at(999_000);
    const removed = at(999_000);
    deadlines.add(past);
    deadlines.add(removed);
    deadlines.remove(removed);
    vi.advanceTimersByTime(RESOLUTION_MS);
    expect([past.fired.length, removed.fired.length]).toEqual([1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("keeps a deadline further away than a turn of the wheel", () => {
    const deadlines = new Deadlines(clock);
    const item = at(1_000_000 + 250_000);
    deadlines.add(item);
    vi.advanceTimersByTime(249_900);
    expect(item.fired).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(item.fired.length).toBe(1);
  });

  it("fires everything that has passed after the event loop stood still", () => {
    const deadlines = new Deadlines(clock);
    const items = [1_000, 90_000, 200_000].map((ms) => at(1_000_000 + ms));
    for (const item of items) deadlines.add(item);
    vi.setSystemTime(1_000_000 + 300_000);
    vi.advanceTimersByTime(RESOLUTION_MS);
    expect(items.map(({ fired }) => fired.length)).toEqual([1, 1, 1]);
  });
});
