import { isRecord } from "../lib/record.ts";

/** What a push asks of a CleanupPolicy. */
export interface CleanupRequest {
  /** 1 to 128 printable ASCII characters. */
  readonly runId: string;
  /** `scope`, else `warehouse_id`. */
  readonly scope: string;
  /** Unix ms. */
  readonly cutoff: number;
}

/** Fields of a push to a `cleanup` destination, as an error names them. */
export const CLEANUP_FIELDS = { runId: "run_id", scope: "warehouse_id or scope", cutoff: "expired_before" } as const;

export type CleanupRequestResult =
  | { readonly ok: true; readonly request: CleanupRequest }
  /** `field`: a value of {@link CLEANUP_FIELDS}. `message`: what is wrong with it, without its value. */
  | { readonly ok: false; readonly field: string; readonly message: string };

/** RFC 3339 with an offset: a local time would name another instant on another machine. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;
/** With an offset a time may lie in a year that RFC 3339 cannot write in UTC. */
const FIRST_INSTANT = Date.parse("0000-01-01T00:00:00Z");
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");
const RUN_ID = /^[\x21-\x7e]{1,128}$/;
const SCOPE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;

/** Reads a run's id, scope and cutoff out of the JSON of a push; the gateway and the worker do it alike. */
export function readCleanupRequest(body: unknown): CleanupRequestResult {
  if (!isRecord(body)) return refuse("runId", "is missing: the body is no JSON object");
  const { run_id: runId, expired_before: before } = body;
  if (typeof runId !== "string" || !RUN_ID.test(runId)) {
    return refuse("runId", "must be text of 1 to 128 printable ASCII characters without blanks");
  }
  const scope = readScope(body);
  if (typeof scope !== "string") return refuse("scope", scope.message);
  const cutoff = typeof before === "string" ? parseInstant(before) : undefined;
  if (cutoff !== undefined) return { ok: true, request: { runId, scope, cutoff } };
  return refuse("cutoff", "must be an RFC 3339 time with an offset, such as 2026-01-31T00:00:00Z");
}

function readScope({
  scope,
  warehouse_id: warehouse,
}: Readonly<Record<string, unknown>>): string | { message: string } {
  if (scope !== undefined && warehouse !== undefined && scope !== warehouse) {
    return { message: "are both there and differ: send one of them" };
  }
  const named = scope ?? warehouse;
  if (typeof named === "string" && SCOPE.test(named)) return named;
  return { message: "must be text of 1 to 128 letters, digits, '.', '_' and '-', with a letter or digit at both ends" };
}

/**
 * Unix ms of an RFC 3339 time with an offset; what is finer than 1 ms is cut off, so that the cutoff is never later than was written.
 * @returns `undefined` for anything else, also for a day that its month does not have
 */
export function parseInstant(text: string): number | undefined {
  const [, date, time, fraction = "", offset = ""] = INSTANT.exec(text) ?? [];
  if (date === undefined || time === undefined) return undefined;
  // `Date` rolls a 31st of February over to March.
  const day = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || !day.toISOString().startsWith(date)) return undefined;
  const value = Date.parse(`${date}T${time}${fraction.slice(0, 4)}${offset.toUpperCase()}`);
  return value >= FIRST_INSTANT && value <= LAST_INSTANT ? value : undefined;
}

function refuse(field: keyof typeof CLEANUP_FIELDS, message: string): CleanupRequestResult {
  return { ok: false, field: CLEANUP_FIELDS[field], message };
}
