import type { AttemptRecord, CopyState, EventView } from "../../custody/port.ts";
import type { RouteEntry } from "../../routes/entry.ts";

/** One line of the report. */
export interface StepReport {
  readonly event: string;
  readonly route: string;
  readonly answer: string;
  /** Statuses of the attempts. */
  readonly attempts: string;
  readonly outcome: string;
  readonly id: string;
}

/** How often each thing really happened. */
export interface Counts {
  delivered: number;
  duplicates: number;
  rejected: number;
  retried: number;
  deadLettered: number;
  replayed: number;
}

export interface DemonstrationReport {
  readonly steps: readonly StepReport[];
  readonly counts: Counts;
  /** What did not end as it should, one line each. Empty: all is well. */
  readonly differences: readonly string[];
}

/** `namespace/name`. */
export function nameOf({ namespace, name }: RouteEntry): string {
  return `${namespace}/${name}`;
}

/** Whether an event has copies and all are in one state. */
export function isAll(event: EventView | undefined, state: CopyState): boolean {
  return event !== undefined && event.copies.length > 0 && event.copies.every((copy) => copy.state === state);
}

/** Whether every copy had so many attempts. */
export function everyAttempts(event: EventView | undefined, count: number): boolean {
  return event !== undefined && event.copies.every(({ attempts }) => attempts.length === count);
}

/** States and attempts, for a difference. */
export function describe(event: EventView | undefined): string {
  if (event === undefined) return "no event in custody";
  return event.copies.map(({ state, attempts }) => `${state} after ${attempts.length} attempt(s)`).join(", ");
}

/** Attempts from number `skip` on, and the last state. */
export function told(event: EventView | undefined, skip = 0): Pick<StepReport, "attempts" | "outcome"> {
  const copies = event?.copies ?? [];
  return {
    attempts: copies.map(({ attempts }) => attempts.slice(skip).map(shortAttempt).join(" → ")).join(" | ") || "-",
    outcome:
      [...new Set(copies.map(({ state }) => (state === "dead" ? "dead letter" : state)))].join(", ") || "not found",
  };
}

function shortAttempt({ status, error, delayMs, delaySource }: AttemptRecord): string {
  const what = status === undefined ? (error ?? "?") : String(status);
  if (delaySource !== "retry_after" || delayMs === undefined) return what;
  return `${what} (Retry-After ${Math.round(delayMs / 1_000)} s)`;
}

/** JSON, or `undefined`. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
