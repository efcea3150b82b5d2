import {
  COMPONENT_LABEL,
  DESTINATION_ANNOTATION,
  DESTINATION_SECRET_TYPE,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
} from "../../api/names.ts";
import type { Secret } from "../../kube/core-types.ts";
import { type Live, refOf } from "../../kube/objects.ts";
import {
  DESTINATION_PUBLICATION_KEY,
  type DestinationPublication,
  readDestinationPublication,
  type UnusableDestinationPublication,
} from "../../routes/destination-publication.ts";
import { FreshStore } from "../publishing/fresh-store.ts";
import { type DraftOf, type PublishedSecret, Publisher, type PublisherOptions } from "../publishing/publisher.ts";

/** A Secret that publishes a WebhookDestination, read. */
export interface DestinationSecret extends PublishedSecret {
  /** `namespace/name` of the WebhookDestination; "" when nothing tells. */
  readonly key: string;
  /** Lacks a label by which others find it. */
  readonly isUnmarked?: true;
  readonly publication?: DestinationPublication;
  readonly problem?: UnusableDestinationPublication;
}

/** Reads such a Secret as the API server has it. Never throws. @param instance of the release */
export function readDestinationSecret(secret: Live<Secret>, instance: string): DestinationSecret {
  const { name, uid, resourceVersion, annotations, labels = {} } = secret.metadata;
  const json = Buffer.from(secret.data?.[DESTINATION_PUBLICATION_KEY] ?? "", "base64").toString("utf8");
  const reading = readDestinationPublication(json);
  const isMarked = Object.entries(labelsOf(instance)).every(([label, value]) => labels[label] === value);
  const told = annotations?.[DESTINATION_ANNOTATION] ?? "";
  return {
    name,
    uid,
    resourceVersion,
    key: told === "" && reading.ok ? `${reading.publication.namespace}/${reading.publication.name}` : told,
    ...(!isMarked && { isUnmarked: true }),
    ...(reading.ok ? { publication: reading.publication } : { problem: reading }),
  };
}

function labelsOf(instance: string): Readonly<Record<string, string>> {
  return { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: instance, [COMPONENT_LABEL]: "destination" };
}

/** Where a WebhookDestination is published. */
export interface DestinationTarget {
  /** Name of the Secret. */
  readonly name: string;
  /** `namespace/name` of the WebhookDestination. */
  readonly key: string;
}

/** Hears that another state of a publication is known. */
export type DestinationListener = (before: DestinationSecret | undefined, after: DestinationSecret | undefined) => void;

/** Everything that is published of WebhookDestinations, by name of the Secret and by namespace. */
export class DestinationPublications {
  readonly #store = new FreshStore<DestinationSecret>();
  readonly #byNamespace = new Map<string, Map<string, DestinationSecret>>();
  readonly #listeners: DestinationListener[] = [];
  #highestSeq = 0;

  /** Highest `seq` ever seen. */
  get highestSeq(): number {
    return this.#highestSeq;
  }

  get(name: string): DestinationSecret | undefined {
    return this.#store.get(name);
  }

  all(): IterableIterator<DestinationSecret> {
    return this.#store.values();
  }

  inNamespace(namespace: string): Iterable<DestinationSecret> {
    return this.#byNamespace.get(namespace)?.values() ?? [];
  }

  onChange(listener: DestinationListener): void {
    this.#listeners.push(listener);
  }

  /** Takes over what was seen or written, unless something newer is known. */
  put(secret: DestinationSecret): void {
    const before = this.#store.get(secret.name);
    if (!this.#store.put(secret.name, secret)) return;
    this.#highestSeq = Math.max(this.#highestSeq, secret.publication?.seq ?? secret.problem?.seq ?? 0);
    this.#replace(before, secret);
  }

  /** The watch shows that it is gone. */
  gone(name: string, resourceVersion: string): void {
    const before = this.#store.get(name);
    if (this.#store.gone(name, resourceVersion)) this.#replace(before, undefined);
  }

  /** It was deleted by this process, or a read found none. */
  drop(name: string): void {
    const before = this.#store.get(name);
    if (before === undefined) return;
    this.#store.drop(name);
    this.#replace(before, undefined);
  }

  #replace(before: DestinationSecret | undefined, after: DestinationSecret | undefined): void {
    if (before !== undefined) this.#remove(before);
    if (after !== undefined) {
      const namespace = namespaceOf(after);
      const sames = this.#byNamespace.get(namespace) ?? new Map<string, DestinationSecret>();
      this.#byNamespace.set(namespace, sames.set(after.name, after));
    }
    for (const listener of this.#listeners) listener(before, after);
  }

  #remove(secret: DestinationSecret): void {
    const namespace = namespaceOf(secret);
    const sames = this.#byNamespace.get(namespace);
    sames?.delete(secret.name);
    if (sames?.size === 0) this.#byNamespace.delete(namespace);
  }
}

/** Namespace of the WebhookDestination. */
export function namespaceOf({ key }: Pick<DestinationSecret, "key">): string {
  return refOf(key).namespace ?? "";
}

/** Writes publications of WebhookDestinations. */
export type DestinationPublisher = Publisher<DestinationTarget, DestinationSecret, DestinationPublication>;
/** See {@link DraftOf}. */
export type DestinationDraftOf = DraftOf<DestinationSecret, DestinationPublication>;

export interface DestinationPublisherOptions
  extends Pick<PublisherOptions<DestinationTarget, DestinationSecret, DestinationPublication>, "secrets" | "stamps"> {
  readonly publications: DestinationPublications;
  readonly instance: string;
  /** `<release>-destinations`. */
  readonly namespace: string;
}

/** A publisher of WebhookDestinations. */
export function destinationPublisher(options: DestinationPublisherOptions): DestinationPublisher {
  const { secrets, stamps, publications, instance, namespace } = options;
  return new Publisher({
    secrets,
    stamps,
    kind: {
      namespace,
      secretType: DESTINATION_SECRET_TYPE,
      known: publications,
      object: ({ name, key }, publication) => ({
        metadata: { name, namespace, labels: labelsOf(instance), annotations: { [DESTINATION_ANNOTATION]: key } },
        type: DESTINATION_SECRET_TYPE,
        data: { [DESTINATION_PUBLICATION_KEY]: Buffer.from(JSON.stringify(publication)).toString("base64") },
      }),
      read: (secret) => readDestinationSecret(secret, instance),
      written: (secret) => readDestinationSecret(secret, instance),
    },
  });
}
