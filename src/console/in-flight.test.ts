import { describe, expect, it } from "vitest";
import { InFlight } from "./in-flight.ts";

describe("requests in flight", () => {
  it("are 256 at most, and a place that is given back is free again", () => {
    const inFlight = new InFlight();
    const places = Array.from({ length: 256 }, () => inFlight.enter());
    expect(places.every((leave) => leave !== undefined)).toBe(true);
    expect(inFlight.enter()).toBeUndefined();
    places[0]?.();
    expect(inFlight.enter()).toBeDefined();
    expect(inFlight.enter()).toBeUndefined();
  });

  it("are 16 of one caller at most, whatever others do", () => {
    const inFlight = new InFlight();
    const places = Array.from({ length: 16 }, () => inFlight.enterAs("a"));
    expect(places.every((leave) => leave !== undefined)).toBe(true);
    expect(inFlight.enterAs("a")).toBeUndefined();
    expect(inFlight.enterAs("b")).toBeDefined();
    for (const leave of places) leave?.();
    expect(Array.from({ length: 17 }, () => inFlight.enterAs("a")).filter((leave) => leave !== undefined)).toHaveLength(
      16,
    );
  });
});
