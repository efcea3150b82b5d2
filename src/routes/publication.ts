import type { Claim } from "./claims.ts";
import type { RouteEntry } from "./entry.ts";
import { withSigningKeys } from "./signing-keys.ts";

/** Newest schema of a publication that this version reads and the one it writes. */
export const PUBLICATION_SCHEMA = 1;

/** Key of an entry Secret's `data` that holds the publication as JSON. */
export const PUBLICATION_KEY = "entry.json";

/**
 * What one entry Secret says: a route that is served, or what is left of one, which keeps its place for its namespace (`CLAIM_HOLD_MS`) and its `seq`
 * growing. `seq` is the publisher's stamp on either.
 */
export type Publication =
  | { readonly schema: number; readonly minReader: number; readonly seq: number; readonly entry: RouteEntry }
  | { readonly schema: number; readonly minReader: number; readonly seq: number; readonly released: Required<Claim> };

/** A publication as a gateway may have it: outgoing signing keys are none of its business. */
export function published(entry: RouteEntry): Publication {
  return { schema: PUBLICATION_SCHEMA, minReader: 1, seq: entry.seq, entry: withSigningKeys(entry, []) };
}

/** The claim that a deleted or moved route leaves behind. */
export function released(entry: RouteEntry, seq: number, releasedAt: number): Publication {
  const { namespace, name, host, path } = entry;
  return { schema: PUBLICATION_SCHEMA, minReader: 1, seq, released: { namespace, name, host, path, releasedAt } };
}

/** Why a publication cannot be used. `TooNew`: written for a newer reader; the last good one keeps serving. */
export type UnusablePublication = {
  readonly ok: false;
  readonly code: "Malformed" | "TooNew";
  readonly message: string;
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
  if (typeof value !== "object" || value === null) return malformed("is no object");
  const { minReader, seq } = value as Partial<Publication>;
  if (typeof minReader !== "number" || typeof seq !== "number") return malformed("has no minReader or no seq");
  if (minReader > PUBLICATION_SCHEMA) {
    return {
      ok: false,
      code: "TooNew",
      message: `needs a reader of schema ${minReader}, this is ${PUBLICATION_SCHEMA}: upgrade the gateways`,
    };
  }
  if (!isComplete(value)) return malformed("lacks fields of an entry");
  return { ok: true, publication: value as Publication };
}

function isComplete(value: object): boolean {
  if ("released" in value) return hasAll(value.released, ["namespace", "name", "host", "path", "releasedAt"]);
  if (!("entry" in value)) return false;
  return hasAll(value.entry, [
    "route",
    "namespace",
    "name",
    "host",
    "path",
    "methods",
    "verification",
    "keys",
    "dedupe",
    "limits",
    "payload",
    "response",
    "retention",
    "destinations",
  ]);
}

function hasAll(value: unknown, fields: readonly string[]): boolean {
  return typeof value === "object" && value !== null && fields.every((field) => Object.hasOwn(value, field));
}

function malformed(what: string): UnusablePublication {
  return {
    ok: false,
    code: "Malformed",
    message: `the published entry ${what}: it is published again when its route changes`,
  };
}
