import type { GateState } from "../../custody/gate.ts";
import type { DestinationEntry } from "../../routes/entry.ts";
import type { KnownDestination } from "../../routes/shared-copies.ts";
import type { CompiledDestinations } from "./compiled-destinations.ts";
import type { DestinationIndex } from "./destination-index.ts";
import type { DestinationPublications, DestinationPublisher } from "./publications.ts";

/** What is known of a destination's gate, as its status is to say it. */
export interface GateReport {
  readonly state: GateState;
  /** Of a disabled one. */
  readonly disabled?: { readonly reason: "ConsecutiveFailures" | "Gone" /** Unix ms. */; readonly since: number };
}

/** The custody side of WebhookDestinations. All optional: a controller works without. */
export interface DestinationGates {
  /** What the status of one is to say; `undefined`: not known. @param key `namespace/name` */
  of(key: string): GateReport | undefined;
  /**
   * Closes its gate and resets its counts.
   * @param destination see `destinationId`
   * @throws while the store does not answer
   */
  enable(namespace: string, destination: string): Promise<void>;
}

/** What the controllers share of WebhookDestinations. */
export interface DestinationSide {
  readonly index: DestinationIndex;
  readonly publications: DestinationPublications;
  readonly publisher: DestinationPublisher;
  readonly compiled: CompiledDestinations;
  readonly gates?: DestinationGates | undefined;
}

/** The WebhookDestinations of a namespace that have an id, for the routes there. */
export function knownDestinations({ index, publications }: DestinationSide, namespace: string): KnownDestination[] {
  return [...publications.inNamespace(namespace)].flatMap(({ key, publication }) => {
    const destination = index.get(key);
    // One that was made anew under the name publishes itself first: it may want another id.
    if (publication === undefined || destination?.metadata.uid !== publication.uid) return [];
    const { name, destination: id, limit } = publication;
    return [{ name, id, labels: destination.metadata.labels ?? {}, ...(limit !== undefined && { limit }) }];
  });
}

/**
 * What the shared workers of a namespace are to be told of its WebhookDestinations; `undefined` while not all are compiled, as a worker gives up copies for one
 * that it is not told of.
 */
export function destinationEntries(
  { publications, compiled }: DestinationSide,
  namespace: string,
): readonly DestinationEntry[] | undefined {
  const entries: DestinationEntry[] = [];
  for (const { key } of publications.inNamespace(namespace)) {
    const entry = compiled.get(key);
    if (entry === undefined) return undefined;
    entries.push(entry);
  }
  return entries;
}
