import type { AttemptRecord, CopyState } from "../port.ts";

/** First line of a record's metadata and the JSON behind it; written by `claim.lua`. */
export interface RecordMeta {
  readonly route: string;
  readonly sequence: number;
  readonly receivedAt: number;
  readonly seq: number;
  readonly destinations: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly eventType: string | undefined;
}

/** Schema this code writes, and the newest it reads. Records of a newer `minReader` are left alone. */
const RECORD_SCHEMA = 1;

/** A newer Davit wrote a record so that this one must not read it. */
export class RecordTooNew extends RangeError {
  override readonly name = "RecordTooNew";
}

/**
 * Reads the metadata field of a record.
 * @throws RecordTooNew
 */
export function parseMeta(text: string): RecordMeta {
  const [head = "", destinations = "", ...json] = text.split("\n");
  const [, minReader, route = "", sequence, receivedAt, seq] = head.split(" ");
  if (Number(minReader) > RECORD_SCHEMA)
    throw new RecordTooNew(`the record needs reader ${minReader}; this is reader ${RECORD_SCHEMA}`);
  const { h = {}, t } = JSON.parse(json.join("\n") || "{}") as { h?: Record<string, string>; t?: string };
  return {
    route,
    sequence: Number(sequence),
    receivedAt: Number(receivedAt),
    seq: Number(seq),
    destinations: destinations.split(" ").filter(Boolean),
    headers: h,
    eventType: t,
  };
}

/** The JSON part of the metadata. */
export function metaJson(headers: Readonly<Record<string, string>>, eventType: string | undefined): string {
  return JSON.stringify(eventType === undefined ? { h: headers } : { h: headers, t: eventType });
}

const STATES: Readonly<Record<string, CopyState>> = {
  W: "waiting",
  R: "waiting",
  A: "active",
  L: "delayed",
  S: "shelved",
  D: "delivered",
  X: "dead",
  C: "cancelled",
  E: "expired",
  I: "ignored",
  G: "discarded",
};

/** Letters under which copies of a state are kept. */
export function stateLetters(state: CopyState): string {
  return Object.keys(STATES)
    .filter((letter) => STATES[letter] === state)
    .join("");
}

/** Reads a copy's state; the layout is in `lua/lib.lua`. */
export function parseCopy(text: string): {
  readonly state: CopyState;
  readonly since: number;
  readonly due: number;
  readonly attempts: number;
} {
  const [letter = "", , attempts, , , , since, due] = text.split(" ");
  return { state: STATES[letter] ?? "waiting", since: Number(since), due: Number(due), attempts: Number(attempts) };
}

/** Reads a log field: the JSON of an attempt that ended. */
export function parseAttempt(text: string): AttemptRecord {
  return JSON.parse(text) as AttemptRecord;
}
