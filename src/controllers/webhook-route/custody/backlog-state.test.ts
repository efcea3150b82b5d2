import { describe, expect, it } from "vitest";
import { type BacklogLook, type BacklogStatus, BacklogTrack, oneDigit, steadyDigit } from "./backlog-state.ts";

const EVERY_MS = 5_000;

/** Looks every 5 s from `from` to `to`, both in seconds. */
function looked(
  parts: readonly { readonly from: number; readonly to: number; readonly look: (at: number) => Partial<BacklogLook> }[],
  previous?: Partial<BacklogStatus>,
): BacklogStatus | undefined {
  const track = new BacklogTrack();
  let status = previous;
  for (const { from, to, look } of parts) {
    for (let at = from * 1_000; at <= to * 1_000; at += EVERY_MS) {
      const still = { waiting: 0, deadLetters: 0, oldestSeconds: at / 1_000, isSuspended: false };
      track.note({ at, ...still, ...look(at / 1_000) });
      status = track.status(status) ?? status;
    }
  }
  return track.status(status);
}

/** 100 copies that nobody takes. */
const standing = () => ({ waiting: 100 });

describe("the state of a backlog", () => {
  it("is not known before there have been looks for 30 s", () => {
    expect(looked([{ from: 0, to: 25, look: standing }])).toBeUndefined();
    expect(looked([{ from: 0, to: 30, look: standing }])).toMatchObject({ state: "Draining", waiting: 100 });
  });

  it("is Empty when nothing waited at one of the last looks, however much is on its way", () => {
    const busy = (at: number) => ({ waiting: at % 25 === 0 ? 0 : 400 });
    expect(looked([{ from: 0, to: 120, look: busy }])).toEqual({ state: "Empty", waiting: 0, deadLetters: 0 });
  });

  it("is Growing while more wait than a minute ago, and Draining when less do or as many", () => {
    const growing = (at: number) => ({ waiting: 100 + at, deliveredSecondsAgo: 0 });
    const draining = (at: number) => ({ waiting: 1_000 - at, deliveredSecondsAgo: 0 });
    const steady = () => ({ waiting: 100, deliveredSecondsAgo: 0 });
    expect(looked([{ from: 0, to: 200, look: growing }])?.state).toBe("Growing");
    expect(looked([{ from: 0, to: 200, look: draining }])?.state).toBe("Draining");
    expect(looked([{ from: 0, to: 600, look: steady }])?.state).toBe("Draining");
  });

  it("is Growing no more by noise", () => {
    const noisy = (at: number) => ({ waiting: Math.floor(at / 100) % 2 === 0 ? 200 : 205, deliveredSecondsAgo: 0 });
    expect(looked([{ from: 0, to: 555, look: noisy }])?.state).toBe("Draining");
  });

  it("is Stuck once nothing has been delivered for 5 minutes while something waited", () => {
    expect(looked([{ from: 0, to: 295, look: standing }])?.state).toBe("Draining");
    expect(looked([{ from: 0, to: 300, look: standing }])?.state).toBe("Stuck");
    const growing = (at: number) => ({ waiting: 100 + at });
    expect(looked([{ from: 0, to: 300, look: growing }])?.state).toBe("Stuck");
  });

  it("is not Stuck while something is delivered, or the oldest does not get older", () => {
    const delivering = () => ({ waiting: 100, deliveredSecondsAgo: 299 });
    const dying = () => ({ waiting: 100, oldestSeconds: 60 });
    expect(looked([{ from: 0, to: 600, look: delivering }])?.state).toBe("Draining");
    expect(looked([{ from: 0, to: 600, look: dying }])?.state).toBe("Draining");
  });

  it("is not Stuck while the route is suspended, nor in the 5 minutes after", () => {
    const suspended = () => ({ waiting: 100, isSuspended: true });
    expect(looked([{ from: 0, to: 900, look: suspended }])?.state).toBe("Draining");
    const resumed = (to: number) => [
      { from: 0, to: 900, look: suspended },
      { from: 905, to, look: standing },
    ];
    expect(looked(resumed(1_200))?.state).toBe("Draining");
    expect(looked(resumed(1_205))?.state).toBe("Stuck");
  });

  it("stays Stuck for a new leader, and whatever is looked at first, until something is delivered", () => {
    const young = () => ({ waiting: 100, oldestSeconds: 1 });
    const stuck = { state: "Stuck", waiting: 100, deadLetters: 0 } as const;
    expect(looked([{ from: 0, to: 30, look: young }], stuck)).toEqual(stuck);
    const delivered = () => ({ waiting: 100, deliveredSecondsAgo: 1 });
    expect(looked([{ from: 0, to: 30, look: delivered }], stuck)?.state).toBe("Draining");
  });

  it("begins anew after a gap, in which Redis may have been away", () => {
    const gap = [
      { from: 0, to: 200, look: standing },
      { from: 300, to: 590, look: standing },
    ];
    expect(looked(gap)?.state).toBe("Draining");
    expect(
      looked([
        { from: 0, to: 295, look: standing },
        { from: 900, to: 900, look: standing },
      ]),
    ).toBeUndefined();
  });
});

describe("the numbers of a backlog", () => {
  it.each([
    [0, 0],
    [1, 1],
    [9, 9],
    [10, 10],
    [14, 10],
    [15, 20],
    [96, 100],
    [1_499, 1_000],
    [1_000_000, 1_000_000],
    [-1, 0],
  ])("show %i as %i", (count, shown) => {
    expect(oneDigit(count)).toBe(shown);
    expect(steadyDigit(count, undefined)).toBe(shown);
  });

  it.each([
    [151, 100, 100],
    [149, 200, 200],
    [160, 100, 200],
    [140, 200, 100],
    [0, 1, 0],
    [1, 0, 1],
    [5, 4, 5],
    [89, 100, 90],
    [95, 90, 90],
  ])("show %i, where %i stands, as %i", (count, before, shown) => {
    expect(steadyDigit(count, before)).toBe(shown);
  });
});
