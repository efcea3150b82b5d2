/** A source of time. Injected wherever a decision depends on time, so that tests set it. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Milliseconds on a clock that never steps (not since any fixed epoch). */
  monotonic(): number;
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
