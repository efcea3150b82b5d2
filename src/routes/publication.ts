import { fieldOf, isRecord } from "../lib/record.ts";
import type { Claim } from "./claims.ts";
import { entryProblem } from "./entry-check.ts";
import type { RouteEntry } from "./entry.ts";
import { withSigningKeys } from "./signing-keys.ts";

/**
 * Newest schema of a publication that this version reads and the one it writes. 2: ids from form fields, and ids of which a part may be missing. 3: copies for
 * WebhookDestinations.
 */
export const PUBLICATION_SCHEMA = 3;

/** Key of an entry Secret's `data` that holds the publication as JSON. */
export const PUBLICATION_KEY = "entry.json";

/**
 * What one entry Secret says: a route that is served, or what is left of one, which keeps its place for its namespace (`CLAIM_HOLD_MS`) and its `seq`
 * growing. `seq` is the publisher's stamp on either.
 */
export type Publication =
  | { readonly schema: number; readonly minReader: number; readonly seq: number; readonly entry: RouteEntry }
  | { readonly schema: number; readonly minReader: number; readonly seq: number; readonly released: ReleasedPlace };

/** `deletionPolicy`: of a route that was deleted; a reader that does not know the field keeps its events on the shelf. */
export type ReleasedPlace = Required<Claim> & Pick<RouteEntry, "deletionPolicy">;

/** A publication as a gateway may have it: outgoing signing keys are none of its business. */
export function published(entry: RouteEntry): Publication {
  const { seq } = entry;
  return { schema: PUBLICATION_SCHEMA, minReader: readerOf(entry), seq, entry: withSigningKeys(entry, []) };
}

/**
 * Oldest reader that understands it. Reader 1 would take a form field for a header, and refuse every request; reader 2 would take events and make no copies for
 * WebhookDestinations.
 */
function readerOf({ dedupe, sharedCopies, destinationIdFrom }: RouteEntry): 1 | 2 | 3 {
  if (sharedCopies !== undefined || destinationIdFrom !== undefined) return 3;
  return dedupe.sources.some(({ from, optional }) => from === "form" || optional === true) ? 2 : 1;
}

/** What a deleted route leaves behind: the claim on its place, and what is to become of its events. */
export function released(entry: RouteEntry, seq: number, releasedAt: number): Publication {
  const { namespace, name, host, path, deletionPolicy } = entry;
  const place = { namespace, name, host, path, releasedAt, ...(deletionPolicy && { deletionPolicy }) };
  return { schema: PUBLICATION_SCHEMA, minReader: 1, seq, released: place };
}

/** Why a publication cannot be used. `TooNew`: written for a newer reader; the last good one keeps serving. */
export type UnusablePublication = {
  readonly ok: false;
  readonly code: "Malformed" | "TooNew";
  readonly message: string;
  /** The publisher's stamp, if it can be read. */
  readonly seq?: number;
  /** The route's host and path, if they can be read: its senders get 503 there, not 404. */
  readonly place?: { readonly host: string; readonly path: string };
};

/** Reads the JSON of an entry Secret. Never throws: a broken entry must not take others down. */
export function readPublication(
  json: string,
): { readonly ok: true; readonly publication: Publication } | UnusablePublication {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return malformed("is no JSON");
  }
  if (!isRecord(value)) return malformed("is no object");
  const { minReader, seq } = value as Partial<Publication>;
  if (typeof minReader !== "number" || typeof seq !== "number") return malformed("has no minReader or no seq", value);
  if (minReader > PUBLICATION_SCHEMA) return tooNew(minReader, value);
  if ("released" in value) {
    return isClaim(value["released"])
      ? { ok: true, publication: value as Publication }
      : malformed("names no place that was released", value);
  }
  const problem = entryProblem(fieldOf(value, "entry"));
  if (problem === undefined) return { ok: true, publication: value as Publication };
  return problem.code === "TooNew"
    ? tooNew(problem.minReader, value)
    : malformed(`has no usable ${problem.field}`, value);
}

function isClaim(value: unknown): boolean {
  const { releasedAt, ...texts } = (value ?? {}) as Partial<Required<Claim>>;
  const isText = (name: "namespace" | "name" | "host" | "path") => typeof texts[name] === "string";
  return typeof releasedAt === "number" && (["namespace", "name", "host", "path"] as const).every(isText);
}

function tooNew(minReader: number, value: unknown): UnusablePublication {
  return {
    ok: false,
    code: "TooNew",
    message: `the published entry needs a reader of schema ${minReader}, this is ${PUBLICATION_SCHEMA}: upgrade the gateways`,
    ...told(value),
  };
}

function malformed(what: string, value?: unknown): UnusablePublication {
  return {
    ok: false,
    code: "Malformed",
    message: `the published entry ${what}: it is published again when its route changes`,
    ...told(value),
  };
}

/** As much as can be read of it all the same. */
function told(value: unknown): Pick<UnusablePublication, "seq" | "place"> {
  const seq = fieldOf(value, "seq");
  const entry = fieldOf(value, "entry");
  const [host, path] = [fieldOf(entry, "host"), fieldOf(entry, "path")];
  return {
    ...(typeof seq === "number" && { seq }),
    ...(typeof host === "string" && typeof path === "string" && { place: { host, path } }),
  };
}
