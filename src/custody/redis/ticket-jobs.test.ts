import { assert, nat, property } from "fast-check";
import { describe, expect, it } from "vitest";
import type { Ticket } from "../port.ts";
import { jobOf, jobsOf, ticketsOf } from "./ticket-jobs.ts";

const tickets = (count: number): Ticket[] =>
  Array.from({ length: count }, (_, at) => ({ destination: `~customer-${at}`, generation: at, slot: 0 }));
const sizes = (count: number) => jobsOf(tickets(count)).map(({ data }) => ticketsOf(data).length);

describe("jobs of tickets", () => {
  it("are one a ticket while these are few, so that workers share them", () => {
    expect(sizes(0)).toEqual([]);
    expect(sizes(1)).toEqual([1]);
    expect(sizes(8)).toEqual(Array(8).fill(1));
  });

  it("carry several once there are many, and 16 at most", () => {
    expect(sizes(9)).toEqual([2, 2, 2, 2, 1]);
    expect(sizes(100)).toEqual([13, 13, 13, 13, 13, 13, 13, 9]);
    expect(Math.max(...sizes(1_000))).toBe(16);
  });

  it("lose none, double none and keep their order", () => {
    assert(
      property(nat({ max: 400 }), (count) => {
        expect(jobsOf(tickets(count)).flatMap(({ data }) => ticketsOf(data))).toEqual(tickets(count));
      }),
    );
  });

  it("have the same id whoever makes them, and another one for any other ticket, slot, generation or time", () => {
    const two = tickets(2);
    const [first, second] = two as [Ticket, Ticket];
    expect(jobOf(tickets(2)).jobId).toBe(jobOf(two).jobId);
    const others = [
      [second, first],
      [first],
      [first, { ...second, slot: 1 }],
      [first, { ...second, generation: 7 }],
      [first, { ...second, destination: "~other" }],
    ];
    const ids = [
      jobOf(two).jobId,
      jobOf(two, 5).jobId,
      jobOf(two, 6).jobId,
      ...others.map((some) => jobOf(some).jobId),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("have ids that BullMQ takes, whatever a destination is called", () => {
    const { jobId } = jobOf([{ destination: "~a:b/c", generation: 3, slot: 1 }]);
    expect(jobId).toBe("~a%3Ab%2Fc#1#3");
    expect(jobOf([...tickets(3)]).jobId).toMatch(/^3\*[0-9a-f]{64}$/);
  });
});
