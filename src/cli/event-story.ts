import type { AttemptRecord, CopyView, EventView, Rejection } from "../custody/port.ts";

/** Names for what custody knows by keys. */
export interface Names {
  routeName(route: string): string;
  destinationName(destination: string): string;
}

/** What became of an event, as lines for people. Pure. */
export function eventStory(event: EventView, names: Names, now: number): string[] {
  const { id, route, receivedAt, bodyBytes, eventType, duplicates, copies } = event;
  const body = bodyBytes > 0 ? `, body ${bodyBytes} bytes` : ", body no longer kept";
  return [
    `event ${id}, route ${names.routeName(route)}`,
    `${time(receivedAt)}  accepted${eventType === undefined ? "" : ` (${eventType})`}${body}`,
    `duplicates: ${duplicates === 0 ? "none" : duplicates}`,
    ...copies.flatMap((copy) => ["", ...copyStory(copy, names, now)]),
    ...(copies.length === 0 ? ["", "no destination wanted it"] : []),
  ];
}

/** A refused request, as one line. */
export function rejectionLine(rejection: Rejection, names: Names): string {
  const { at, status, reason, client, route, bodyBytes, bodySha256 } = rejection;
  const body = bodySha256 === "" ? "body not read" : `body ${bodyBytes} bytes, SHA-256 ${bodySha256.slice(0, 16)}…`;
  return `${time(at)}  refused with ${status} ${reason} by ${names.routeName(route)}, from ${client}, ${body}`;
}

/** The state of all copies in a word or two: `delivered`, `1 dead, 2 delivered`. */
export function stateOf({ copies }: EventView): string {
  const counts = new Map<string, number>();
  for (const { state } of copies) counts.set(state, (counts.get(state) ?? 0) + 1);
  if (counts.size === 0) return "ignored";
  const [only] = counts.keys();
  if (counts.size === 1 && only !== undefined) return only;
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}

/** UTC, to the millisecond. */
export function time(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ");
}

function copyStory(copy: CopyView, names: Names, now: number): string[] {
  const lines: string[] = [];
  for (const [index, attempt] of copy.attempts.entries()) {
    const before = copy.attempts[index - 1];
    if (before !== undefined && (before.action === "dead" || before.action === "expired"))
      lines.push("  made live again");
    lines.push(`  ${attemptLine(attempt)}`);
  }
  return [`destination ${names.destinationName(copy.destination)}: ${finalLine(copy, now)}`, ...lines];
}

function attemptLine(attempt: AttemptRecord): string {
  const { at, status, error, durationMs } = attempt;
  const what = status === undefined ? (error ?? "no answer") : `answered ${status}`;
  const took = durationMs === undefined ? "" : ` after ${Math.round(durationMs)} ms`;
  return `${time(at)}  attempt ${attempt.attempt}  ${attempt.action === "started" ? "under way" : what + took}${next(attempt)}`;
}

const SOURCES = { schedule: "the schedule", backoff: "the backoff", retry_after: "Retry-After" } as const;

function next({ action, delayMs = 0, delaySource, reason }: AttemptRecord): string {
  if (action === "retry") {
    return `; put back for ${delayMs / 1_000} s${delaySource === undefined ? "" : ` by ${SOURCES[delaySource]}`}`;
  }
  if (action === "dead" || action === "expired") return `; dead letter: ${reason ?? action}`;
  if (action === "unknown") return "; outcome unknown: its worker was lost";
  return action === "delivered" ? "; delivered" : "";
}

function finalLine({ state, dueAt, attempts }: CopyView, now: number): string {
  if (state === "delayed" && dueAt !== undefined) {
    const left = Math.max(0, Math.round((dueAt - now) / 1_000));
    return `delayed, next attempt at ${time(dueAt)} (in ${left} s)`;
  }
  if (state === "dead") return `dead letter (${attempts.at(-1)?.reason ?? "unknown"})`;
  if (state === "active") return "under way";
  return state;
}
