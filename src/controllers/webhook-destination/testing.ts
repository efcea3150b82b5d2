import type { WebhookDestinationSpec } from "../../api/generated/webhook-destination.ts";
import { destinationId, destinationSecretName } from "../../api/names.ts";
import type { Live } from "../../kube/objects.ts";
import type { DestinationPublication } from "../../routes/destination-publication.ts";
import { CompiledDestinations } from "./compiled-destinations.ts";
import { DestinationIndex } from "./destination-index.ts";
import type { DestinationSide } from "./destination-side.ts";
import type { DestinationObject } from "./destination-types.ts";
import { DestinationPublications, type DestinationSecret } from "./publications.ts";

/** What is known of no WebhookDestination yet, for tests. */
export function emptySide(more: Partial<DestinationSide> = {}): DestinationSide {
  return {
    index: new DestinationIndex("default"),
    publications: new DestinationPublications(),
    publisher: { publish: async () => false, remove: async () => false } as unknown as DestinationSide["publisher"],
    compiled: new CompiledDestinations(),
    ...more,
  };
}

/** A WebhookDestination of namespace `shop`, for tests. */
export function destinationOf(
  name: string,
  spec: Partial<WebhookDestinationSpec> = {},
  metadata: Partial<Live["metadata"]> = {},
): Live<DestinationObject> {
  return {
    metadata: { namespace: "shop", name, uid: `uid of ${name}`, resourceVersion: "1", generation: 1, ...metadata },
    spec: { url: "https://hooks.example.com/in", ...spec },
  };
}

/** What is published of a {@link destinationOf}, for tests. */
export function publishedOf(
  { metadata, spec }: Live<DestinationObject>,
  more: Partial<DestinationPublication> = {},
): DestinationSecret {
  const { namespace = "", name, uid } = metadata;
  const id = spec.id ?? name;
  return {
    name: destinationSecretName("default", namespace, name),
    uid: `uid of the Secret of ${name}`,
    resourceVersion: "1",
    key: `${namespace}/${name}`,
    publication: {
      schema: 1,
      minReader: 1,
      seq: 1_000,
      namespace,
      name,
      uid,
      id,
      destination: destinationId(id) ?? "",
      digest: "d",
      tokenHashes: [],
      ...more,
    },
  };
}
