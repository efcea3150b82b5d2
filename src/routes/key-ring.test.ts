import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RingKey } from "./entry.ts";
import { advanceRing, keyId, MAX_RING_KEYS, type ObservedKey, revokePrevious, stripLineEnd } from "./key-ring.ts";

const HOUR = 3_600_000;
const releaseKey = Buffer.from("release key of a test");

function current(value: string, more: Partial<ObservedKey> = {}): ObservedKey {
  return { value: Buffer.from(value), use: "Signing", state: "current", ...more };
}

function advance(ring: readonly RingKey[], observed: readonly ObservedKey[], now: number, overlapMs = 24 * HOUR) {
  return advanceRing(ring, observed, { now, overlapMs, releaseKey });
}

/** `value:state`, in order. */
function shape(keys: readonly RingKey[]): string[] {
  return keys.map((key) => `${Buffer.from(key.value, "base64").toString()}:${key.state}`);
}

describe("advanceRing", () => {
  test("starts with what the Secret holds", () => {
    const { keys, ...rest } = advance([], [current("a", { keyId: "k1" })], 5);
    expect(keys).toEqual([
      {
        id: keyId(releaseKey, Buffer.from("a")),
        keyId: "k1",
        use: "Signing",
        state: "current",
        since: 5,
        value: Buffer.from("a").toString("base64"),
      },
    ]);
    expect(rest).toEqual({ tooManyChanges: false });
  });

  test("keeps the previous key for the overlap and then removes it for good", () => {
    const first = advance([], [current("a")], 0);
    const rotated = advance(first.keys, [current("b")], HOUR);
    expect(shape(rotated.keys)).toEqual(["b:current", "a:previous"]);
    expect(rotated).toMatchObject({ overlapEndsAt: 25 * HOUR, nextChangeAt: 25 * HOUR });
    expect(shape(advance(rotated.keys, [current("b")], 25 * HOUR - 1).keys)).toEqual(["b:current", "a:previous"]);
    const after = advance(rotated.keys, [current("b")], 25 * HOUR);
    expect(shape(after.keys)).toEqual(["b:current"]);
    expect(after.overlapEndsAt).toBeUndefined();
  });

  test("says since when a key is in its state, however often it looks", () => {
    const first = advance([], [current("a")], HOUR);
    expect(advance(first.keys, [current("a")], 2 * HOUR).keys[0]?.since).toBe(HOUR);
    const rotated = advance(first.keys, [current("b")], 3 * HOUR);
    expect(advance(rotated.keys, [current("b")], 4 * HOUR).keys.map(({ since }) => since)).toEqual([
      3 * HOUR,
      3 * HOUR,
    ]);
  });

  test("keeps every key of several changes within one window, each to its own end", () => {
    let ring = advance([], [current("a")], 0).keys;
    ring = advance(ring, [current("b")], HOUR).keys;
    ring = advance(ring, [current("c")], 2 * HOUR).keys;
    expect(shape(ring)).toEqual(["c:current", "b:previous", "a:previous"]);
    expect(shape(advance(ring, [current("c")], 25 * HOUR).keys)).toEqual(["c:current", "b:previous"]);
  });

  test("takes an emptied or missing Secret as a rotation to nothing", () => {
    const ring = advance([], [current("a")], 0).keys;
    const emptied = advance(ring, [], HOUR);
    expect(shape(emptied.keys)).toEqual(["a:previous"]);
    expect(emptied.overlapEndsAt).toBe(25 * HOUR);
    expect(advance(emptied.keys, [], 25 * HOUR).keys).toEqual([]);
  });

  test("makes a key current again when its value comes back within the overlap", () => {
    const rotated = advance(advance([], [current("a")], 0).keys, [current("b")], HOUR);
    const back = advance(rotated.keys, [current("a")], 2 * HOUR);
    expect(shape(back.keys)).toEqual(["a:current", "b:previous"]);
    expect(back.keys[0]?.notAfter).toBeUndefined();
  });

  test("accepts a next key in advance and promotes it without an interruption", () => {
    const ahead = advance([], [current("a"), current("b", { state: "next" })], 0);
    expect(shape(ahead.keys)).toEqual(["a:current", "b:next"]);
    const promoted = advance(ahead.keys, [current("b")], HOUR);
    expect(shape(promoted.keys)).toEqual(["b:current", "a:previous"]);
    expect(promoted.keys[0]?.since).toBe(HOUR);
  });

  test("ends a key at the notAfter of its reference, not an overlap later", () => {
    const ring = advance([], [current("a", { notAfter: 2 * HOUR })], 0);
    expect(ring.nextChangeAt).toBe(2 * HOUR);
    expect(ring.overlapEndsAt).toBeUndefined();
    expect(advance(ring.keys, [current("a", { notAfter: 2 * HOUR })], 2 * HOUR).keys).toEqual([]);
    expect(advance(ring.keys, [current("b")], HOUR).overlapEndsAt).toBe(2 * HOUR);
  });

  test("ends a key at once when its reference gets a notAfter that has passed", () => {
    const ring = advance([], [current("a")], HOUR).keys;
    expect(advance(ring, [current("a", { notAfter: 1 })], 2 * HOUR).keys).toEqual([]);
  });

  test("drops the previous key at once with an overlap of 0, and sooner when the overlap is shortened", () => {
    const ring = advance([], [current("a")], 0).keys;
    expect(shape(advance(ring, [current("b")], HOUR, 0).keys)).toEqual(["b:current"]);
    const rotated = advance(ring, [current("b")], HOUR).keys;
    expect(advance(rotated, [current("b")], 2 * HOUR, HOUR).overlapEndsAt).toBe(3 * HOUR);
  });

  test("holds at most five keys, drops the oldest previous ones and says so", () => {
    let ring: readonly RingKey[] = [];
    let tooMany = false;
    for (const [index, value] of ["a", "b", "c", "d", "e", "f"].entries()) {
      ({ keys: ring, tooManyChanges: tooMany } = advance(ring, [current(value)], index));
    }
    expect(shape(ring)).toEqual(["f:current", "e:previous", "d:previous", "c:previous", "b:previous"]);
    expect(tooMany).toBe(true);
    expect(advance(ring, [current("f")], 6).tooManyChanges).toBe(false);
  });

  test("keeps equal values of different use apart, and one of equal values of the same use", () => {
    const { keys } = advance(
      [],
      [current("a"), current("a", { state: "previous" }), current("a", { use: "VerifyToken" })],
      0,
    );
    expect(keys.map(({ use, state }) => `${use} ${state}`)).toEqual(["Signing current", "VerifyToken current"]);
  });
});

describe("keys of different use", () => {
  test("take no place from each other, signing keys first", () => {
    const token = (value: string) => current(value, { use: "VerifyToken" });
    let ring: readonly RingKey[] = [];
    for (const [index, value] of ["a", "b", "c", "d", "e", "f"].entries()) {
      ring = advance(ring, [token("t"), current(value), current("c", { use: "ApiCredential" })], index).keys;
    }
    expect(ring.map(({ use, state }) => `${use} ${state}`)).toEqual([
      "Signing current",
      ...Array.from({ length: 4 }, () => "Signing previous"),
      "VerifyToken current",
      "ApiCredential current",
    ]);
  });

  test("rotate apart: only a signing key's overlap is a rotation, and each is looked at again when it ends", () => {
    const token = (value: string) => current(value, { use: "VerifyToken" });
    const ring = advance([], [current("a"), token("t")], 0).keys;
    const rotated = advance(ring, [current("a"), token("u")], HOUR);
    expect(rotated.keys.map(({ use, state }) => `${use} ${state}`)).toEqual([
      "Signing current",
      "VerifyToken current",
      "VerifyToken previous",
    ]);
    expect(rotated.overlapEndsAt).toBeUndefined();
    expect(rotated.nextChangeAt).toBeGreaterThan(HOUR);
  });

  test("stand in the order of the manifest within a state, for senders whose keys have an order", () => {
    const listed = [current("p"), current("q", { state: "previous" }), current("r", { state: "previous" })];
    const { keys } = advance(advance([], listed, 0).keys, listed, HOUR);
    expect(shape(keys)).toEqual(["p:current", "q:previous", "r:previous"]);
    const swapped = [current("r"), current("q", { state: "previous" }), current("p", { state: "previous" })];
    expect(shape(advance(keys, swapped, 2 * HOUR).keys)).toEqual(["r:current", "q:previous", "p:previous"]);
  });
});

describe("revokePrevious", () => {
  test("ends what is left of the overlap at once", () => {
    const rotated = advance(advance([], [current("a")], 0).keys, [current("b")], HOUR).keys;
    const revoked = revokePrevious(rotated);
    expect(shape(revoked)).toEqual(["b:current"]);
    expect(shape(advance(revoked, [current("b")], 2 * HOUR).keys)).toEqual(["b:current"]);
  });
});

describe("stripLineEnd", () => {
  test.each([
    ["a\n", "a"],
    ["a\r\n", "a"],
    ["a\n\n", "a\n"],
    ["a\r", "a\r"],
    ["a \n", "a "],
    ["\n", ""],
    ["\r\n", ""],
    ["", ""],
    ["a", "a"],
  ])("turns %j into %j", (given, expected) => {
    expect(stripLineEnd(Buffer.from(given)).toString()).toBe(expected);
  });
});

describe("keyId", () => {
  test("is 8 hex digits that depend on the release's key", () => {
    const value = Buffer.from("secret");
    expect(keyId(releaseKey, value)).toMatch(/^[0-9a-f]{8}$/);
    expect(keyId(Buffer.from("another"), value)).not.toBe(keyId(releaseKey, value));
  });
});

describe("the ring, whatever happens to the Secret", () => {
  const OVERLAP = 10;
  /** The Secret's value (`null`: missing) after a pause. Few values, so that they come back. */
  const steps = fc.array(
    fc.record({ pause: fc.integer({ min: 0, max: 15 }), value: fc.constantFrom("a", "b", "c", "d", null) }),
    { maxLength: 30 },
  );

  test("accepts exactly the present value and those that left less than an overlap ago", () => {
    fc.assert(
      fc.property(steps, (history) => {
        let now = 0;
        let ring: readonly RingKey[] = [];
        let present: string | null = null;
        const leftAt = new Map<string, number>();
        for (const { pause, value } of history) {
          now += pause;
          if (present !== null && present !== value) leftAt.set(present, now);
          if (value !== null) leftAt.delete(value);
          present = value;
          ring = advance(ring, value === null ? [] : [current(value)], now, OVERLAP).keys;
          const overlapping = [...leftAt].filter(([, at]) => now < at + OVERLAP).map(([key]) => `${key}:previous`);
          const expected = [...(value === null ? [] : [`${value}:current`]), ...overlapping];
          expect(shape(ring).toSorted()).toEqual(expected.toSorted());
        }
      }),
    );
  });

  test("is the same after a second look, holds no value twice and never more than five keys of a use", () => {
    const observed = fc.array(
      fc.record({
        value: fc.constantFrom("a", "b", "c", "d", "e", "f", "g").map((text) => Buffer.from(text)),
        use: fc.constantFrom("Signing" as const, "VerifyToken" as const),
        state: fc.constantFrom("current" as const, "previous" as const, "next" as const),
      }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 15 }), observed), { maxLength: 12 }), (history) => {
        let now = 0;
        let ring: readonly RingKey[] = [];
        for (const [pause, keys] of history) {
          now += pause;
          ring = advance(ring, keys, now, OVERLAP).keys;
          expect(advance(ring, keys, now, OVERLAP).keys).toEqual(ring);
          for (const use of ["Signing", "VerifyToken"]) {
            expect(ring.filter((key) => key.use === use).length).toBeLessThanOrEqual(MAX_RING_KEYS);
          }
          expect(new Set(ring.map((key) => `${key.use} ${key.value}`)).size).toBe(ring.length);
          expect(ring.every((key) => key.notAfter === undefined || key.notAfter > now)).toBe(true);
        }
      }),
    );
  });
});
