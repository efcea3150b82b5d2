import { sha256Head } from "../lib/hash.ts";
import type { DedupeSource } from "../verification/presets/preset.ts";
import type { RouteEntry } from "./entry.ts";

/** Header under which the gateway keeps an event's id at its provider, where no other header that is kept has it. */
export const PROVIDER_ID_HEADER = "davit-provider-id";

/** Header under which the gateway keeps the run id of an event for a cleanup destination: the event is found by it while there is no run yet. */
export const CLEANUP_RUN_HEADER = "davit-cleanup-run";

/** Most characters of an id that are kept. */
export const MAX_KEPT_ID = 256;

/** What a part of a delivery's id is called in its mark: where it stands, so that equal values of two places differ. */
export function partLabel(source: DedupeSource): string {
  if (source.from === "json") return `json:${source.pointer}`;
  return source.from === "form" ? `form:${source.name}` : `header:${source.name.toLowerCase()}`;
}

/**
 * The mark of a delivery: the first 16 bytes of SHA-256 over the parts, each with its length (4 bytes, big-endian) before it, so that ("ab","c") and
 * ("a","bc") differ. Put together for the one-shot hash, which takes half the time of updates.
 *
 * @param parts the route key, then a label and a value for each part that is there
 */
export function markKey(parts: readonly string[]): Buffer {
  let size = 0;
  for (const part of parts) size += 4 + Buffer.byteLength(part);
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of parts) {
    const length = bytes.write(part, at + 4);
    bytes.writeUInt32BE(length, at);
    at += 4 + length;
  }
  return sha256Head(bytes, 16);
}

/** The first 8 bytes, in hex, of SHA-256 over an id at a provider: `idHash` of a rejection. */
export function providerIdHash(id: string): string {
  return sha256Head(Buffer.from(id), 8).toString("hex");
}

/**
 * How to find what became of an id at a provider, for `Ledger.findByProviderId`. An id of one part, or with parts that may be missing, has a mark of its own;
 * any other is found in the headers that were kept.
 */
export function providerIdQuery({ route, dedupe }: Pick<RouteEntry, "route" | "dedupe">, id: string) {
  const { sources, windowMs, earlierWindows } = dedupe;
  const required = sources.filter(({ optional }) => optional !== true);
  const alone = required.length > 0 ? required : sources;
  const headers = sources.flatMap((source) => (source.from === "header" ? [source.name.toLowerCase()] : []));
  return {
    route,
    id,
    marks: required.length > 1 ? [] : alone.map((source) => markKey([route, partLabel(source), id])),
    windows: [...new Set([windowMs, ...earlierWindows.map((earlier) => earlier.windowMs)])],
    // Who sends a push knows the run's id as well as the delivery's.
    headers: [PROVIDER_ID_HEADER, CLEANUP_RUN_HEADER, ...headers],
  };
}
