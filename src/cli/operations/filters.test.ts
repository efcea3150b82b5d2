import { describe, expect, it } from "vitest";
import { CommandError, UsageError } from "../command.ts";
import type { CustodyAccess } from "../custody-access.ts";
import { isRestricted, letterPlaces, timeFlag } from "./filters.ts";

const NOW = Date.parse("2026-02-01T00:00:00Z");
const KEY = "00000000000000aa";
const access = {
  namespaces: ["shop", "bank"],
  routes: [{ namespace: "shop", name: "orders", route: KEY, host: "", path: "" }],
} as unknown as CustodyAccess;

describe("filters of dead letters", () => {
  it("read dates, dates with time, and how long ago", () => {
    expect(timeFlag("--from", "2026-01-31", NOW)).toBe(Date.parse("2026-01-31T00:00:00Z"));
    expect(timeFlag("--from", "2026-01-31T12:00:00", NOW)).toBe(Date.parse("2026-01-31T12:00:00Z"));
    expect(timeFlag("--from", "2026-01-31 12:00:00.250", NOW)).toBe(Date.parse("2026-01-31T12:00:00.250Z"));
    expect(timeFlag("--from", "2026-01-31T12:00:00+02:00", NOW)).toBe(Date.parse("2026-01-31T10:00:00Z"));
    expect(timeFlag("--from", "1h30m", NOW)).toBe(NOW - 5_400_000);
    expect(timeFlag("--from", "2d", NOW)).toBe(NOW - 172_800_000);
    const refused = ["", "soon", "2026-13-45", "-1h", "5"].filter((text) => {
      try {
        timeFlag("--from", text, NOW);
        return false;
      } catch (error) {
        return error instanceof UsageError;
      }
    });
    expect(refused).toEqual(["", "soon", "2026-13-45", "-1h", "5"]);
  });

  it("name a destination by its route, or by the id of a WebhookDestination", () => {
    const inline = [{ namespace: "shop", filter: { destination: `${KEY}/main` } }];
    expect(letterPlaces(access, { route: "orders", destination: "main" }, NOW)).toEqual(inline);
    expect(letterPlaces(access, { destination: "shop/orders/main" }, NOW)).toEqual(inline);
    expect(letterPlaces(access, { destination: `${KEY}/main` }, NOW)).toEqual(inline);
    expect(letterPlaces(access, { destination: "~t-1" }, NOW)).toEqual([
      { namespace: "shop", filter: { destination: "~t-1" } },
      { namespace: "bank", filter: { destination: "~t-1" } },
    ]);
    expect(letterPlaces(access, { destination: "~t 1", route: "orders" }, NOW)).toEqual([
      { namespace: "shop", filter: { route: KEY, destination: "~t%201" } },
    ]);
    expect(() => letterPlaces(access, { destination: "main" }, NOW)).toThrow("add --route");
    expect(() => letterPlaces(access, { route: "orders", destination: "a/b" }, NOW)).toThrow(UsageError);
    expect(() => letterPlaces(access, { route: "none" }, NOW)).toThrow(CommandError);
  });

  it("restrict nothing unless given", () => {
    expect(isRestricted({})).toBe(false);
    expect(isRestricted({ reason: "x" })).toBe(true);
    expect(letterPlaces(access, {}, NOW)).toEqual([
      { namespace: "shop", filter: {} },
      { namespace: "bank", filter: {} },
    ]);
    expect(letterPlaces(access, { route: "orders", from: "1h", to: "0s", reason: "S*", type: "t" }, NOW)).toEqual([
      { namespace: "shop", filter: { route: KEY, from: NOW - 3_600_000, to: NOW, reason: "S*", eventType: "t" } },
    ]);
  });
});
