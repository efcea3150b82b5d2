import { describe, expect, test } from "vitest";
import type { RouteEntry } from "./entry.ts";
import { MatchTable, normaliseHost, normalisePath, VANISHED_FOR_MS } from "./match-table.ts";
import { entryOf } from "./testing.ts";

function entry(host: string, path: string): RouteEntry {
  return { ...entryOf(), host, path };
}

describe("MatchTable", () => {
  test("finds a route by host and exact path", () => {
    const table = new MatchTable();
    const a = entry("one.example.com", "/a");
    const b = entry("two.example.com", "/a");
    table.replace([a, b], 0);
    expect(table.match("one.example.com", "/a", 0)).toEqual({ type: "route", entry: a });
    expect(table.match("TWO.example.com.:443", "/a?x=1", 0)).toEqual({ type: "route", entry: b });
    for (const path of ["/a/", "/A", "/", "/a/b"]) expect(table.match("one.example.com", path, 0).type).toBe("none");
    expect(table.match("three.example.com", "/a", 0).type).toBe("none");
  });

  test("does not take another host for a path that only one route has", () => {
    const table = new MatchTable();
    table.replace([entry("one.example.com", "/only")], 0);
    expect(table.match("two.example.com", "/only", 0).type).toBe("none");
  });

  test("ignores the host only when told to, and only where the path is unique", () => {
    const table = new MatchTable({ ignoreHost: true });
    table.replace([entry("one.example.com", "/a"), entry("two.example.com", "/a"), entry("one.example.com", "/b")], 0);
    expect(table.match("localhost:8080", "/b", 0).type).toBe("route");
    expect(table.match("localhost:8080", "/a", 0).type).toBe("none");
    expect(table.match("two.example.com", "/a", 0).type).toBe("route");
  });

  test("remembers a vanished route for a quarter of an hour", () => {
    const table = new MatchTable();
    table.replace([entry("one.example.com", "/a")], 0);
    table.replace([], 1_000);
    expect(table.match("one.example.com", "/a", 1_000 + VANISHED_FOR_MS - 1).type).toBe("vanished");
    expect(table.match("one.example.com", "/b", 1_000).type).toBe("none");
    expect(table.match("one.example.com", "/a", 1_000 + VANISHED_FOR_MS).type).toBe("none");
  });

  test("counts the quarter of an hour from when the route vanished, not from later updates", () => {
    const table = new MatchTable({ ignoreHost: true });
    table.replace([entry("one.example.com", "/a")], 0);
    table.replace([], 0);
    table.replace([], VANISHED_FOR_MS - 1);
    expect(table.match("localhost", "/a", VANISHED_FOR_MS - 1).type).toBe("vanished");
    expect(table.match("localhost", "/a", VANISHED_FOR_MS).type).toBe("none");
  });

  test("serves a route again that comes back", () => {
    const table = new MatchTable();
    table.replace([entry("one.example.com", "/a")], 0);
    table.replace([], 0);
    table.replace([entry("one.example.com", "/a")], 1);
    expect(table.match("one.example.com", "/a", 2).type).toBe("route");
    expect(table.entries).toHaveLength(1);
  });
});

describe("normalisePath", () => {
  test.each([
    ["/a/b", "/a/b"],
    ["/a?b=/../c#d", "/a"],
    ["/%61/%7eb", "/a/~b"],
    ["/a%2fb", "/a%2Fb"],
    ["/a/./b/../c", "/a/c"],
    ["/a/%2e%2e/b", "/b"],
    ["/../../a", "/a"],
    ["/a/..", "/"],
    ["/a/b/.", "/a/b/"],
    ["/a//b", "/a//b"],
    ["/a/", "/a/"],
    ["/.hidden", "/.hidden"],
    ["/%zz", "/%zz"],
    ["http://hooks.example.com/a?b", "/a"],
    ["https://hooks.example.com", "/"],
    ["*", undefined],
    ["", undefined],
    ["hooks.example.com:443", undefined],
  ])("turns %j into %j", (target, expected) => {
    expect(normalisePath(target)).toBe(expected);
  });
});

describe("normaliseHost", () => {
  test.each([
    ["Hooks.Example.com:8080", "hooks.example.com"],
    ["hooks.example.com.", "hooks.example.com"],
    ["[::1]:8080", "[::1]"],
    ["", ""],
  ])("turns %j into %j", (host, expected) => {
    expect(normaliseHost(host)).toBe(expected);
  });
});

describe("a change of the MatchTable", () => {
  test("touches the named places and no others", () => {
    const table = new MatchTable();
    const [a, b] = [entry("one.example.com", "/a"), entry("one.example.com", "/b")];
    table.replace([a, b], 0);
    const newer = { ...b, seq: 9 };
    table.apply({ put: [newer], gone: [a] }, 1_000);
    expect(table.match("one.example.com", "/a", 1_000).type).toBe("vanished");
    expect(table.match("one.example.com", "/b", 1_000)).toEqual({ type: "route", entry: newer });
    expect(table.entries).toEqual([newer]);
  });

  test("serves a place that is named as gone and as put", () => {
    const table = new MatchTable();
    const a = entry("one.example.com", "/a");
    table.replace([a], 0);
    table.apply({ put: [a], gone: [a] }, 0);
    expect(table.match("one.example.com", "/a", 0).type).toBe("route");
  });

  test("knows places that vanished before it was there, counted from then, and forgets them once they are served", () => {
    const table = new MatchTable();
    const a = entry("one.example.com", "/a");
    const since = 1_000;
    table.apply({ put: [], gone: [], vanished: [{ host: a.host, path: a.path, since }] }, 5_000);
    expect(table.match(a.host, a.path, since + VANISHED_FOR_MS - 1).type).toBe("vanished");
    expect(table.match(a.host, a.path, since + VANISHED_FOR_MS).type).toBe("none");
    table.apply({ put: [a], gone: [] }, 6_000);
    table.apply({ put: [], gone: [], vanished: [{ host: a.host, path: a.path, since }] }, 6_000);
    expect(table.match(a.host, a.path, 6_000).type).toBe("route");
  });

  test("keeps a place that should have a route unavailable for as long as it takes", () => {
    const table = new MatchTable();
    const a = entry("one.example.com", "/a");
    table.apply({ put: [], gone: [], vanished: [{ ...a, since: Infinity }] }, 0);
    table.apply({ put: [], gone: [] }, 10 * VANISHED_FOR_MS);
    expect(table.match(a.host, a.path, 10 * VANISHED_FOR_MS).type).toBe("vanished");
    table.apply({ put: [], gone: [], vanished: [{ ...a, since: 0 }] }, 10 * VANISHED_FOR_MS);
    expect(table.match(a.host, a.path, 10 * VANISHED_FOR_MS).type).toBe("none");
  });

  test("makes a path unique again when one of its two routes goes", () => {
    const table = new MatchTable({ ignoreHost: true });
    const [a, b] = [entry("one.example.com", "/a"), entry("two.example.com", "/a")];
    table.replace([a, b], 0);
    expect(table.match("localhost", "/a", 0).type).toBe("none");
    table.apply({ put: [], gone: [b] }, 0);
    expect(table.match("localhost", "/a", 0)).toEqual({ type: "route", entry: a });
  });
});
