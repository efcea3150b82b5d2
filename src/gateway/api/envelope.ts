import { isRecord } from "../../lib/record.ts";

/** Longest `id` of an event, characters. */
const MAX_ID = 256;
/** Longest `type`, characters: filters of destinations are no longer. */
const MAX_TYPE = 128;

/** What is read of an event's envelope; everything in it is delivered as it was written. */
export interface Envelope {
  readonly id: string | undefined;
  readonly type: string;
}

/** What is wrong with an envelope: the field, and what to write there. Holds no value. */
export interface EnvelopeFault {
  readonly field: string;
  readonly message: string;
}

interface Rule {
  readonly field: string;
  readonly required?: true;
  readonly takes: (value: unknown) => boolean;
  readonly remedy: string;
}

const PLAIN = /^[\x21-\x7e][\x20-\x7e]*$/;
/** RFC 3339 §5.6; that there is such a day is not looked at. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

const isText = (value: unknown, most: number): value is string =>
  typeof value === "string" && value !== "" && value.length <= most;

/** Fields of an envelope. Others may stand beside them. */
const RULES: readonly Rule[] = [
  {
    field: "id",
    takes: (value) => isText(value, MAX_ID) && PLAIN.test(value),
    remedy: `write a string of 1 to ${MAX_ID} printable ASCII characters, or leave it out`,
  },
  {
    field: "type",
    required: true,
    takes: (value) => isText(value, MAX_TYPE),
    remedy: `write a string of 1 to ${MAX_TYPE} characters`,
  },
  {
    field: "created",
    takes: (value) => isText(value, 64) && DATE_TIME.test(value),
    remedy: "write a date and time as in 2026-11-30T20:00:00Z, or leave it out",
  },
  {
    field: "apiVersion",
    takes: (value) => isText(value, 64),
    remedy: "write a string of 1 to 64 characters, or leave it out",
  },
  {
    field: "sequence",
    takes: (value) => typeof value === "number" || (typeof value === "string" && /^\d{1,64}$/.test(value)),
    remedy: "write a number, or a string of digits, or leave it out",
  },
  { field: "data", required: true, takes: () => true, remedy: "write what the event is about; null is allowed" },
];

/** Reads an element of a request as an envelope `{id?, type, created?, apiVersion?, sequence?, data}`. */
export function readEnvelope(value: unknown): Envelope | EnvelopeFault {
  if (!isRecord(value)) return { field: "", message: "an event is an object with type and data" };
  for (const { field, required, takes, remedy } of RULES) {
    const isThere = Object.hasOwn(value, field);
    if (isThere ? !takes(value[field]) : required) {
      return { field, message: `${field} ${isThere ? "cannot be used" : "is missing"}: ${remedy}` };
    }
  }
  const { id, type } = value as { readonly id?: string; readonly type: string };
  return { id, type };
}
