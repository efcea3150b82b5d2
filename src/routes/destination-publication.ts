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
