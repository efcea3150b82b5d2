import { describe, expect, it } from "vitest";
import { HOST, routeEntry } from "./testing.ts";
import { MatchTable } from "../routes/match-table.ts";
import { hostOf, requestTarget } from "./request-target.ts";
import { routeTable } from "./route-table.ts";

describe("routeTable", () => {
  const table = new MatchTable();
  const entry = routeEntry();
  let now = 1_000;
  const lookup = (host: string, path: string) => routeTable(table, { now: () => now }).lookup(host, path, "POST");

  it("finds a route by host and exact path in normal form, and says when it has just gone", () => {
    table.replace([entry], now);
    expect(lookup(HOST, "/push")).toBe(entry);
    for (const path of ["/%70ush", "/./push", "/x/../push", "//push", "/push/", "/push%2f"]) {
      expect(lookup(HOST, path)).toBeUndefined();
    }
    expect(lookup("other.example.com", "/push")).toBeUndefined();
    table.replace([], now);
    expect(lookup(HOST, "/push")).toBe("vanished");
    now += 15 * 60_000;
    expect(lookup(HOST, "/push")).toBeUndefined();
  });
});

describe("requestTarget", () => {
  it.each([
    ["/a?b=/c", "h.example:80", { host: "h.example", path: "/a", pathAndQuery: "/a?b=/c" }],
    ["HTTP://Other.Example:8443/a?b", "h.example", { host: "other.example", path: "/a", pathAndQuery: "/a?b" }],
    ["http://other.example?b", "h.example", { host: "other.example", path: "/", pathAndQuery: "/?b" }],
    ["*", "h.example", undefined],
    ["other.example:443", "h.example", undefined],
    ["http://user@other.example/a", "h.example", undefined],
  ])("reads %s", (url, host, expected) => {
    expect(requestTarget({ url, headers: { host } })).toEqual(expected);
  });

  it("takes port, case and a trailing dot off a host", () => {
    expect(["H.example.:80", "[::1]:80", "[::1]", "h"].map(hostOf)).toEqual(["h.example", "[::1]", "[::1]", "h"]);
  });
});
