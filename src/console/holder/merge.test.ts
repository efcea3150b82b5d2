import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventView } from "../../custody/port.ts";
import { type AskRoute, mergedPage } from "./merge.ts";

const ROUTES = ["0a", "0b", "0c"].map((name) => name.padEnd(16, "0"));

/** An event of a route's log; `isOwn`: a filter lets it through. */
interface Logged {
  readonly route: string;
  readonly sequence: number;
  readonly isOwn: boolean;
}

/** A store that looks at `budget` events in one call, newest first, as `walk-log` does. */
function storeOf(log: readonly Logged[], budget: number): AskRoute {
  return async (route, { limit, cursor }) => {
    const rows = log
      .filter((one) => one.route === route && (cursor === undefined || one.sequence < Number(cursor)))
      .toSorted((a, b) => b.sequence - a.sequence);
    const found: Logged[] = [];
    let looked = 0;
    for (const row of rows.slice(0, budget)) {
      looked += 1;
      if (row.isOwn) found.push(row);
      if (found.length >= limit) break;
    }
    const last = rows[looked - 1];
    const hasMore = looked < rows.length || looked === budget;
    return {
      items: found.map(({ sequence }) => ({ id: `${route}-${sequence}`, route, sequence }) as EventView),
      ...(hasMore && last !== undefined && { next: String(last.sequence) }),
    };
  };
}

async function walk(ask: AskRoute, limit: number): Promise<string[]> {
  const seen: string[] = [];
  let position: string | undefined;
  do {
    const page = await mergedPage(ROUTES, { limit, position }, ask);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    expect(page.next).not.toBe(position ?? "");
    seen.push(...page.items.map(({ id }) => id));
    position = page.next;
  } while (position !== undefined);
  return seen;
}

describe("a list over several routes", () => {
  const logged = (sequence: fc.Arbitrary<number>) =>
    fc.uniqueArray(fc.record({ route: fc.constantFrom(...ROUTES), sequence, isOwn: fc.boolean() }), {
      selector: ({ route, sequence: of }) => `${route} ${of}`,
      maxLength: 60,
    });
  // Close together, of the same number in several routes, and seconds apart.
  const sequences = fc.oneof(
    fc.nat(20),
    fc.nat(40).map((n) => n * 1_024_000),
  );

  it("gives each event once, newest first, whatever the pages and however little the store looks at", async () => {
    await fc.assert(
      fc.asyncProperty(
        logged(sequences),
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 6 }),
        async (log, limit, budget) => {
          const own = log
            .filter(({ isOwn }) => isOwn)
            .toSorted((a, b) => b.sequence - a.sequence || (a.route < b.route ? -1 : 1))
            .map(({ route, sequence }) => `${route}-${sequence}`);
          expect(await walk(storeOf(log, budget), limit)).toEqual(own);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("tells where it was among others' events to the second only", async () => {
    const log = Array.from({ length: 100 }, (_, n) => ({
      route: ROUTES[0] ?? "",
      sequence: 1_000_000_000 + n * 7_777,
      isOwn: false,
    }));
    const page = await mergedPage(ROUTES, { limit: 5, position: undefined }, storeOf(log, 3));
    expect(page.items).toEqual([]);
    expect(Number(page.next?.split(":")[0]) % 4_096_000).toBe(0);
  });
});
