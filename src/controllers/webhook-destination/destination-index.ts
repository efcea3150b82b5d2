import { destinationId, signingRingSecretName } from "../../api/names.ts";
import type { Live } from "../../kube/objects.ts";
import { isNewer } from "../../kube/resource-version.ts";
import { type DestinationObject, idOf } from "./destination-types.ts";

/** A key of a Secret. */
export interface KeyRef {
  readonly name: string;
  readonly key: string;
}

/** WebhookDestinations by what they depend on. Keys are `namespace/name`. */
export class DestinationIndex {
  readonly #all = new Map<string, Live<DestinationObject>>();
  readonly #bySecret = new Map<string, Set<string>>();
  readonly #byNamespace = new Map<string, Set<string>>();
  readonly #byId = new Map<string, Set<string>>();
  readonly #byRing = new Map<string, Set<string>>();
  readonly #instance: string;

  constructor(instance: string) {
    this.#instance = instance;
  }

  get size(): number {
    return this.#all.size;
  }

  get(key: string): Live<DestinationObject> | undefined {
    return this.#all.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#all.keys();
  }

  namespaces(): IterableIterator<string> {
    return this.#byNamespace.keys();
  }

  /** One is there, or changed, or had its status written. What is older than what is known changes nothing. */
  put(key: string, destination: Live<DestinationObject>): void {
    const before = this.#all.get(key);
    const { uid, resourceVersion, generation } = destination.metadata;
    if (before?.metadata.uid === uid && isNewer(before.metadata.resourceVersion, resourceVersion)) return;
    this.remove(key);
    // A write of the status leaves the spec as it was: then it stays the same object, so that what is known of it need not be found out again.
    const isSameSpec = generation !== undefined && before?.metadata.uid === uid;
    const keepsSpec = isSameSpec && before.metadata.generation === generation;
    const next = keepsSpec ? { ...destination, spec: before.spec } : destination;
    this.#all.set(key, next);
    this.#each(next, (sets, value) => {
      const set = sets.get(value);
      if (set === undefined) sets.set(value, new Set([key]));
      else set.add(key);
    });
  }

  /** What a write of this process was answered: nothing any more when the watch has told meanwhile that it is gone, or is another one by now. */
  putWritten(key: string, destination: Live<DestinationObject>): void {
    if (this.#all.get(key)?.metadata.uid === destination.metadata.uid) this.put(key, destination);
  }

  /** It is gone. */
  remove(key: string): void {
    const before = this.#all.get(key);
    if (before === undefined) return;
    this.#all.delete(key);
    this.#each(before, (sets, value) => {
      const set = sets.get(value);
      set?.delete(key);
      if (set?.size === 0) sets.delete(value);
    });
  }

  /** Those that refer to a Secret (`namespace/name`). */
  ofSecret(secret: string): readonly string[] {
    return [...(this.#bySecret.get(secret) ?? [])];
  }

  ofNamespace(namespace: string): readonly string[] {
    return [...(this.#byNamespace.get(namespace) ?? [])];
  }

  /** Those of a namespace that want an id. @param destination see `destinationId` */
  ofId(namespace: string, destination: string): readonly string[] {
    return [...(this.#byId.get(`${namespace} ${destination}`) ?? [])];
  }

  /** Those with a key whose ring is kept in a Secret. @param ring its name */
  ofRing(namespace: string, ring: string): readonly string[] {
    return [...(this.#byRing.get(`${namespace}/${ring}`) ?? [])];
  }

  #each(destination: Live<DestinationObject>, change: (sets: Map<string, Set<string>>, value: string) => void): void {
    const { namespace = "" } = destination.metadata;
    for (const name of secretNames(destination)) change(this.#bySecret, `${namespace}/${name}`);
    const signing = signingRef(destination);
    if (signing) {
      const ring = signingRingSecretName(this.#instance, namespace, signing.name, signing.key);
      change(this.#byRing, `${namespace}/${ring}`);
    }
    change(this.#byNamespace, namespace);
    change(this.#byId, `${namespace} ${destinationId(idOf(destination)) ?? ""}`);
  }
}

/** Names of the Secrets that a WebhookDestination needs values of, in its own namespace. */
export function secretNames({ spec }: Pick<DestinationObject, "spec">): ReadonlySet<string> {
  const { headersFrom = [], tls, signing, access } = spec;
  const own = [signing?.secretRef, access?.tokenSecretRef].flatMap((ref) => ref ?? []);
  const refs = [...own, ...headersFrom.map(({ secretRef }) => secretRef)];
  const certificates = [tls?.caSecretRef, tls?.clientCertificateSecretRef].flatMap((ref) => ref ?? []);
  return new Set([...refs, ...certificates].map(({ name }) => name));
}

/** The key that deliveries to a destination are signed with: a ring of it is kept. */
export function signingRef({ spec }: Pick<DestinationObject, "spec">): KeyRef | undefined {
  return spec.signing?.secretRef;
}
