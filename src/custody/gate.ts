/**
 * What the store decides about a destination before it hands out copies of it: rate, hold, circuit, disabling (`custody.md` §5). It is decided in the store,
 * on the store's clock, so that all processes and all routes that share a destination agree.
 */

/**
 * What a destination's gate goes by. The config with the newest `seq` is kept in the gate together with the policy's `limit`, and a process that still has an
 * older one goes by the newer. A destination that once had a gate must keep one (`{ seq }` is enough): without it the store does not look.
 */
export interface GateConfig {
  /** Grows with each edit of the destination. */
  readonly seq: number;
  /** Token bucket: `requests` in `perMs`, and at most `burst` at once. */
  readonly rate?: { readonly requests: number; readonly perMs: number; readonly burst: number };
  /** Opens on failures; without it only a hold or an operator stops the destination, or being disabled. */
  readonly circuit?: CircuitConfig;
  /** Disabled once both hold: so many failures in a row, the first of them so long ago. */
  readonly disableAfter?: { readonly consecutiveFailures: number; readonly failingForMs: number };
}

/** When a circuit opens, and for how long. */
export interface CircuitConfig {
  /** Failures in a row. */
  readonly consecutiveFailures: number;
  /** The first opening; each further one lasts twice as long, until the destination has come back to its full limit. ms */
  readonly openMs: number;
  /** … up to this, ms. */
  readonly maxOpenMs: number;
}

/** Times of `custody.md` §5. Five in a row is also the default of Envoy's outlier detection (`consecutive_5xx`). */
export const DEFAULT_CIRCUIT: CircuitConfig = { consecutiveFailures: 5, openMs: 30_000, maxOpenMs: 600_000 };

/** A hint of a destination holds it no longer than this, then a probe decides, ms (`custody.md` §5). */
export const MAX_HOLD_MS = 300_000;

/**
 * `Closed`: open for copies. `Held`: the destination or an operator asked for a pause. `Open`: it failed too often in a row. `HalfOpen`: one probe is on its
 * way. `Disabled`: until somebody enables it.
 */
export type GateState = (typeof GATE_STATES)[number];

/** In the order of the metric `destination_circuit_state`: 0 is `Closed`. */
export const GATE_STATES = ["Closed", "HalfOpen", "Open", "Held", "Disabled"] as const;

/**
 * What an attempt says about its destination.
 * - `success`: it took the message.
 * - `failure`: it did not; counts towards circuit and disabling.
 * - `rejected`: it answered, and refused this message; counts towards disabling only.
 * - `hold`: it asked for a pause of `holdMs` (cut to {@link MAX_HOLD_MS}); a failure as far as disabling goes.
 * - `gone`: it says that it is gone for good (410); disabled at once.
 * - `neutral`: nothing was learned of it.
 */
export type GateEffect =
  | { readonly type: "success" | "failure" | "rejected" | "gone" | "neutral" }
  | { readonly type: "hold"; readonly holdMs: number };

/** An effect with the generation under which the attempt was taken: that of another generation changes counters, never the state. */
export type GateOutcome = GateEffect & { readonly generation: number };

/** A change of state. Whoever made it is told, once. */
export interface GateTransition {
  readonly destination: string;
  readonly from: GateState;
  readonly to: GateState;
  /** Unix ms, the store's clock. */
  readonly at: number;
  readonly reason: GateReason;
  /** Of the state that begins. */
  readonly generation: number;
  /** Attempts in a row without success, over all states. */
  readonly consecutiveFailures: number;
  /** Unix ms of the first of them. */
  readonly failingSince?: number;
  /** Unix ms at which a hold or an open circuit ends. */
  readonly until?: number;
}

/**
 * Why a gate is as it is. `RetryAfter`: held by the destination's hint. `OperatorHold`, `OperatorEnabled`: by hand. `ConsecutiveFailures`: opened, or disabled.
 * `ProbeFailed`: open again. `Probing`: half open. `Recovered`: closed after a probe. `Gone`: disabled by 410.
 */
export type GateReason =
  | "RetryAfter"
  | "OperatorHold"
  | "OperatorEnabled"
  | "ConsecutiveFailures"
  | "ProbeFailed"
  | "Probing"
  | "Recovered"
  | "Gone";

/** What the store knows of a destination's gate. */
export interface GateView {
  readonly state: GateState;
  readonly generation: number;
  readonly consecutiveFailures: number;
  readonly failingSince?: number;
  /** Unix ms at which a hold or an open circuit ends. It stays `Held` or `Open` until then and until there is a copy to probe with. */
  readonly until?: number;
  /** Unix ms of the last change. Absent when there was none. */
  readonly changedAt?: number;
  readonly reason?: GateReason;
  /** Copies at a time that are let through on the way back to the full limit. */
  readonly rampingAt?: number;
  /** The config that counts, and the limit that came with it; absent before the first turn. */
  readonly config?: GateConfig & { readonly limit: number };
}

/** The operator's side of gates. They hold for destinations whose policy has a gate. */
export interface Gates {
  /** A destination that the store has never seen is `Closed`. */
  gate(destination: string): Promise<GateView>;
  /** Those of many destinations, in their order and without `config`. At most 500 a call: it is one script. */
  gates(destinations: readonly string[]): Promise<readonly GateView[]>;
  /**
   * Closes the gate whatever its state, resets the counts and wakes the destination; it comes back 1, 2, 4 … copies at a time. Attempts that still run change
   * nothing any more. @returns `undefined` when it was closed already (the counts are reset all the same)
   */
  enable(destination: string): Promise<GateTransition | undefined>;
  /**
   * Nothing is taken before `untilMs` (Unix ms, the store's clock), then one probe decides. Attempts that run are awaited.
   * @returns `undefined` when it is disabled: that is left alone
   */
  hold(destination: string, untilMs: number): Promise<GateTransition | undefined>;
}
