import type { SequencedEvent } from "../custody/operations.ts";
import type { AttemptRecord, CopyView, EventView } from "../custody/port.ts";
import { isoTime } from "./filters.ts";
import { destinationName } from "./naming.ts";

/** An event of a list: of each copy its state and how its last attempt ended. */
export function eventSummary(event: EventView, route: string): object {
  return { ...eventFields(event, route), copies: event.copies.map(copySummary) };
}

/** One event: of each copy the whole log. */
export function eventAnswer(event: SequencedEvent, route: string): object {
  const copies = event.copies.map((copy) => ({ ...copySummary(copy), log: copy.attempts.map(attemptAnswer) }));
  return { ...eventFields(event, route), copies, ...payload(event) };
}

/** What a producer sent, for whoever may see it; without `body` it is kept no longer. */
export function payload({ headers, body }: SequencedEvent): object {
  return { ...(headers && { headers }), ...(body && { body: body.toString("base64") }) };
}

function eventFields({ id, receivedAt, sequence, eventType, duplicates, bodyBytes }: EventView, route: string): object {
  return {
    id,
    route,
    receivedAt: isoTime(receivedAt),
    sequence,
    ...(eventType !== undefined && { eventType }),
    duplicates,
    bodyBytes,
  };
}

/** A copy of a list. */
export function copySummary({ destination, state, attempts, dueAt }: CopyView): object {
  const last = attempts.at(-1);
  return {
    destination: destinationName(destination),
    state,
    attempts: last?.attempt ?? 0,
    ...(last?.status !== undefined && { lastStatus: last.status }),
    ...(last?.error !== undefined && { lastError: last.error }),
    ...(last?.reason !== undefined && { reason: last.reason }),
    ...(dueAt !== undefined && { dueAt: isoTime(dueAt) }),
  };
}

/** An attempt of a copy's log. */
export function attemptAnswer({ at, ...attempt }: AttemptRecord): object {
  return { ...attempt, at: isoTime(at) };
}
