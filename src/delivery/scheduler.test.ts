import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allocate, BATCH, permits, slowBudget, ticketsFor } from "./scheduler.ts";

interface Named {
  readonly id: number;
  readonly room: number;
  readonly slow: boolean;
}
const named = (rooms: readonly number[], slow: readonly boolean[] = []): Named[] =>
  rooms.map((room, id) => ({ id, room, slow: slow[id] ?? false }));
const anyCandidates = fc
  .array(fc.tuple(fc.nat({ max: 80 }), fc.boolean()), { maxLength: 100 })
  .map((list) => list.map(([room, slow], id) => ({ id, room, slow })));
const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0);

describe("permits and tickets", () => {
  it("permits 64 copies a ticket, never more than the limit", () => {
    expect([permits(0, 10), permits(1, 10), permits(1, 500), permits(2, 500), permits(9, 500)]).toEqual([
      0, 10, 64, 128, 500,
    ]);
  });

  it("wants a ticket for each 64 copies, up to the limit, and at least one", () => {
    expect([
      ticketsFor(0, 500),
      ticketsFor(64, 500),
      ticketsFor(65, 500),
      ticketsFor(1e6, 500),
      ticketsFor(1e6, 1),
    ]).toEqual([1, 1, 2, 8, 1]);
  });

  it("leaves slow destinations half of the slots together", () => {
    expect([slowBudget(500, 0), slowBudget(500, 249), slowBudget(500, 400), slowBudget(3, 0)]).toEqual([250, 1, 0, 1]);
  });
});

describe("allocate", () => {
  it("deals one slot each before it deals a second one", () => {
    const shares = allocate(named([64, 64, 64]), { free: 7, freeForSlow: 7 });
    expect([...shares.values()]).toEqual([3, 2, 2]);
  });

  it("gives what small destinations leave to the others", () => {
    expect([...allocate(named([1, 64]), { free: 10, freeForSlow: 10 }).values()]).toEqual([1, 9]);
  });

  it("gives a full turn to a destination that is alone", () => {
    expect([...allocate(named([64]), { free: 500, freeForSlow: 500 }).values()]).toEqual([64]);
  });

  it("gives slow destinations no more than their budget, and the rest to the others", () => {
    const shares = allocate(named([64, 64], [true, false]), { free: 10, freeForSlow: 2 });
    expect([...shares.values()]).toEqual([2, 8]);
  });

  it("reads no more candidates than can be served", () => {
    let read = 0;
    const many = (function* () {
      for (;;) {
        read += 1;
        yield { room: 1, slow: false };
      }
    })();
    allocate(many, { free: 500, freeForSlow: 500 });
    expect(read).toBe(BATCH);
  });

  it("stays within room, free slots, the slow budget and the turn, whatever the candidates", () => {
    fc.assert(
      fc.property(anyCandidates, fc.nat({ max: 600 }), fc.nat({ max: 300 }), (candidates, free, freeForSlow) => {
        const shares = allocate(candidates, { free, freeForSlow });
        expect(sum(shares.values())).toBeLessThanOrEqual(Math.min(BATCH, free));
        expect(sum([...shares].filter(([c]) => c.slow).map(([, n]) => n))).toBeLessThanOrEqual(freeForSlow);
        for (const [candidate, share] of shares) {
          expect(share).toBeGreaterThan(0);
          expect(share).toBeLessThanOrEqual(candidate.room);
        }
      }),
    );
  });

  it("loses no slot: it stops only when slots, the turn or all room is used up", () => {
    fc.assert(
      fc.property(anyCandidates, fc.nat({ max: 600 }), fc.nat({ max: 300 }), (candidates, free, freeForSlow) => {
        const shares = allocate(candidates, { free, freeForSlow });
        const quick = sum(candidates.filter((c) => !c.slow).map((c) => c.room));
        const slow = Math.min(freeForSlow, sum(candidates.filter((c) => c.slow).map((c) => c.room)));
        expect(sum(shares.values())).toBe(Math.min(BATCH, free, quick + slow));
      }),
    );
  });

  it("starves nobody: with served ones moved to the end, each quick destination with room is served within as many turns as there are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 3 }),
        (rooms, free) => {
          let queue = named(rooms);
          const served = new Set<number>();
          for (let turn = 0; turn < rooms.length; turn++) {
            const shares = allocate(queue, { free, freeForSlow: 0 });
            const got = [...shares.keys()];
            for (const { id } of got) served.add(id);
            queue = [...queue.filter((c) => !shares.has(c)), ...got];
          }
          expect(served.size).toBe(rooms.length);
        },
      ),
    );
  });
});
