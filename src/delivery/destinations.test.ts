import { describe, expect, it } from "vitest";
import { systemClock } from "../lib/clock.ts";
import { obstacleOf, routeOf } from "./destinations.ts";
import { redact } from "./redact.ts";

describe("a destination that is not in the config", () => {
  const policy = {
    route: "00000000000000ab",
    windowMs: 1,
    earlierWindows: [],
    retention: { deliveredMs: 1, deadLettersMs: 1, maxEvents: 1, keepBodies: false },
  };
  const route = { namespace: "shop", name: "orders", seq: 3, suspended: false, policy };
  const configuration = Object.assign(new Map<string, never>(), { routes: new Map([["00000000000000ab", route]]) });

  it("is its route's when that is there", () => {
    expect(routeOf(configuration, "00000000000000ab/gone")).toBe(route);
    expect(routeOf(configuration, "00000000000000ac/gone")).toBeUndefined();
    expect(routeOf(configuration, "~00000000000000ab/gone")).toBeUndefined();
    expect(routeOf(new Map(), "00000000000000ab/gone")).toBeUndefined();
  });

  it("is taken from only when its route is there and delivers", () => {
    expect(obstacleOf(undefined, undefined, systemClock)).toBe("unknown");
    expect(obstacleOf(undefined, { ...route, suspended: true }, systemClock)).toBe("suspended");
    expect(obstacleOf(undefined, route, systemClock)).toBeUndefined();
  });
});

describe("redact", () => {
  it("takes credentials out of every URL and leaves the rest", () => {
    expect(redact("at redis://u:p@h:1 and https://tok@x/y?z=a@b, mail a@b.c")).toBe(
      "at redis://[redacted]@h:1 and https://[redacted]@x/y?z=a@b, mail a@b.c",
    );
  });

  it("takes the whole of a password that holds an @", () => {
    expect(redact("redis://u:p@ss@h:1/0")).toBe("redis://[redacted]@h:1/0");
  });
});
