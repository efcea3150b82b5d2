import { expect, test } from "vitest";
import { EventSeriesBook, type Happening } from "./event-series.ts";
import type { Live } from "./objects.ts";

const MINUTE = 60_000;
const about = (uid: string): Live => ({ metadata: { name: uid, uid, resourceVersion: "1" } });
const happening: Happening = { type: "Normal", reason: "Done", action: "Do", note: "it is done" };

test("the first is written at once, the same again at most twice a minute", () => {
  const book = new EventSeriesBook();
  const first = book.note(about("a"), happening, 1_000);
  expect(first).toMatchObject({ inMs: 0, series: { count: 1 } });
  expect(book.note(about("a"), happening, 11_000)).toMatchObject({ inMs: 20_000, series: { count: 2 } });
  expect(book.note(about("a"), happening, 41_000)?.inMs).toBe(0);
  expect(first?.series.count).toBe(3);
});

test("another note, reason or object is another event", () => {
  const book = new EventSeriesBook();
  book.note(about("a"), happening, 0);
  for (const other of [{ note: "else" }, { reason: "Else" }, { action: "Else" }, { type: "Warning" as const }]) {
    expect(book.note(about("a"), { ...happening, ...other }, 0)?.series.count).toBe(1);
  }
  expect(book.note(about("b"), happening, 0)?.series.count).toBe(1);
});

test("after six quiet minutes a series is over", () => {
  const book = new EventSeriesBook();
  book.note(about("a"), happening, 0);
  expect(book.note(about("a"), happening, 6 * MINUTE - 1)?.series.count).toBe(2);
  expect(book.note(about("a"), happening, 12 * MINUTE)?.series.count).toBe(1);
});

test("an object has 25 events at once and one more every five minutes; others are not touched by it", () => {
  const book = new EventSeriesBook();
  const notes = Array.from({ length: 30 }, (_, index) => book.note(about("a"), { ...happening, note: `${index}` }, 0));
  expect(notes.filter((recorded) => recorded !== undefined)).toHaveLength(25);
  expect(book.note(about("b"), happening, 0)).toBeDefined();
  expect(book.note(about("a"), { ...happening, note: "later" }, 5 * MINUTE + 1)).toBeDefined();
  expect(book.note(about("a"), { ...happening, note: "too soon" }, 5 * MINUTE + 2)).toBeUndefined();
});
