/** Newest schema of a route's entry that this version reads. */
const ENTRY_SCHEMA = 1;

type Kind = "string" | "number" | "object" | "array";

/**
 * Fields of a `RouteEntry` without which gateways or workers could not go on, and their JSON types. A field that a later version adds must not be
 * listed here: entries of the version before lack it.
 */
const FIELDS: Readonly<Record<string, Kind>> = {
  seq: "number",
  instance: "string",
  namespace: "string",
  name: "string",
  route: "string",
  host: "string",
  path: "string",
  methods: "array",
  suspend: "string",
  verification: "object",
  publicUrl: "string",
  toleranceMs: "number",
  allowedSourceRanges: "array",
  parameters: "object",
  keys: "array",
  dedupe: "object",
  limits: "object",
  payload: "object",
  response: "object",
  retention: "object",
  worker: "object",
  destinations: "array",
};

/** Same for the parts of `destinations[]`. */
const DESTINATION_FIELDS: Readonly<Record<string, Kind>> = {
  id: "string",
  name: "string",
  target: "object",
  eventTypes: "array",
  timeoutMs: "number",
  concurrency: "number",
  retry: "object",
  headers: "object",
  forwardHeaders: "array",
};

/** What is wrong with an entry that somebody else wrote: `TooNew` needs a newer reader, of `Malformed` the first bad field is named. */
export type EntryProblem =
  | { readonly code: "TooNew"; readonly minReader: number }
  | { readonly code: "Malformed"; readonly field: string };

/** Looks whether JSON of unknown origin has the shape of a `RouteEntry`. Never throws, never looks into values beyond their type. */
export function entryProblem(value: unknown): EntryProblem | undefined {
  const { minReader, destinations } = (value ?? {}) as { minReader?: unknown; destinations?: unknown };
  if (typeof minReader === "number" && minReader > ENTRY_SCHEMA) return { code: "TooNew", minReader };
  const field = badField(value, FIELDS) ?? badDestination(destinations);
  return field === undefined ? undefined : { code: "Malformed", field };
}

/** The same for a `DestinationEntry` by itself. */
export function destinationProblem(value: unknown): EntryProblem | undefined {
  const field = badField(value, DESTINATION_FIELDS);
  return field === undefined ? undefined : { code: "Malformed", field };
}

function badDestination(destinations: unknown): string | undefined {
  for (const [index, destination] of (destinations as readonly unknown[]).entries()) {
    const field = badField(destination, DESTINATION_FIELDS);
    if (field !== undefined) return `destinations[${index}].${field}`;
  }
  return undefined;
}

function badField(value: unknown, fields: Readonly<Record<string, Kind>>): string | undefined {
  const record = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Object.keys(fields).find((field) => !Object.hasOwn(record, field) || kindOf(record[field]) !== fields[field]);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}
