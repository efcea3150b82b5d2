import { isRecord } from "../lib/record.ts";

/** Key of a Secret's `data` that holds the publication as JSON. */
export const DESTINATION_PUBLICATION_KEY = "destination.json";

/** Newest schema that this version reads. */
const SCHEMA = 1;

/**
 * What the release publishes of a WebhookDestination: one Secret each, in a namespace of their own (`destinationsNamespace`), read by the controller, which keeps
 * ids and stamps there, and by the console. It holds no key and no token in the clear; workers get theirs in their own config.
 */
export interface DestinationPublication {
  readonly schema: 1;
  readonly minReader: 1;
  /** Stamp of the publisher: grows with every change, and is the configuration that the gate goes by. */
  readonly seq: number;
  readonly namespace: string;
  /** `metadata.name`. */
  readonly name: string;
  /** `metadata.uid`: a re-created one is another. */
  readonly uid: string;
  /** `spec.id`, else the name. */
  readonly id: string;
  /** `~<id>` (`destinationId`), its name in custody. */
  readonly destination: string;
  /** HMAC-SHA256 under the release's key over the compiled entry, hex: whether it says the same as what was published last. */
  readonly digest: string;
  readonly suspended?: boolean;
  /** Its `concurrency`, where it writes one. */
  readonly limit?: number;
  /** SHA-256 of each token of `access.tokenSecretRef` that is good now, hex. */
  readonly tokenHashes: readonly string[];
}

/** Why a publication cannot be used. `TooNew`: written for a newer reader, and left alone. */
export interface UnusableDestinationPublication {
  readonly ok: false;
  readonly code: "Malformed" | "TooNew";
  /** Its stamp, as far as it can be read. */
  readonly seq: number;
}

export type DestinationPublicationReading =
  | { readonly ok: true; readonly publication: DestinationPublication }
  | UnusableDestinationPublication;

const TEXTS = ["namespace", "name", "uid", "id", "destination", "digest"] as const;

/** Reads what a Secret publishes. Never throws. */
export function readDestinationPublication(json: string): DestinationPublicationReading {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    value = undefined;
  }
  if (!isRecord(value)) return { ok: false, code: "Malformed", seq: 0 };
  const { minReader, seq: stamp, tokenHashes } = value;
  const seq = Number.isSafeInteger(stamp) ? Number(stamp) : 0;
  if (typeof minReader !== "number") return { ok: false, code: "Malformed", seq };
  if (minReader > SCHEMA) return { ok: false, code: "TooNew", seq };
  const isWhole = seq > 0 && Array.isArray(tokenHashes) && TEXTS.every((field) => typeof value[field] === "string");
  if (!isWhole) return { ok: false, code: "Malformed", seq };
  return { ok: true, publication: value as unknown as DestinationPublication };
}
