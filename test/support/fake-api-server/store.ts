import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { applyTo, takeChanged, type Application, type Owners } from "./apply.ts";
import { mergePatch, type Sent, type StoredObject } from "./object.ts";
import { conflict, gone, notFound, otherUid, StatusError } from "./status-error.ts";

/** Where an object is: the collection's path (`/api/v1/namespaces/x/secrets`) and its name. */
export interface Place {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly isStatus: boolean;
}

/** One entry of the history that watches read. */
export interface HistoryEvent {
  readonly version: number;
  readonly collection: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

interface Entry {
  object: StoredObject;
  readonly owners: Owners;
}

export const collectionOf = ({ group, plural }: Pick<Place, "group" | "plural">) => `${plural}.${group}`;
const keyOf = (place: Place) => `${collectionOf(place)}/${place.namespace ?? ""}/${place.name}`;
const nameOf = (place: Place) => `${place.plural} "${place.name}"`;

/** The objects, their versions and the history. Writes follow the API server's rules for uid, resourceVersion, generation, finalizers and status. */
export class FakeStore {
  version = 100;
  /** Versions before this one are forgotten. */
  oldest = 0;
  readonly history: HistoryEvent[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<(event: HistoryEvent) => void>();

  listen(listener: (event: HistoryEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets the history; older versions are then 410 Gone. */
  compact(): void {
    this.history.length = 0;
    this.oldest = this.version;
  }

  list(place: Pick<Place, "group" | "plural" | "namespace">): StoredObject[] {
    const prefix = `${collectionOf(place)}/${place.namespace === undefined ? "" : `${place.namespace}/`}`;
    return [...this.#entries]
      .filter(([key]) => key.startsWith(prefix))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { object }]) => object);
  }

  /** @throws StatusError 410 when the version is forgotten */
  since(version: number): HistoryEvent[] {
    if (version < this.oldest) throw gone();
    return this.history.filter((event) => event.version > version);
  }

  get(place: Place): StoredObject {
    const entry = this.#entries.get(keyOf(place));
    if (!entry) throw notFound(nameOf(place));
    return entry.object;
  }

  create(place: Place, sent: Sent, manager: string): StoredObject {
    if (this.#entries.has(keyOf(place))) {
      throw new StatusError(409, "AlreadyExists", `${nameOf(place)} already exists`);
    }
    if (sent.metadata?.resourceVersion) {
      throw new StatusError(400, "BadRequest", "resourceVersion should not be set on objects to be created");
    }
    const owners: Owners = new Map();
    const object = this.#fresh(place, sent);
    takeChanged(undefined, object, owners, manager);
    return this.#add(place, { object, owners });
  }

  update(place: Place, sent: Sent, manager: string): StoredObject {
    const { object } = this.#entry(place);
    const { uid, resourceVersion } = sent.metadata ?? {};
    if (uid !== undefined && uid !== object.metadata.uid) throw conflict(nameOf(place));
    if (resourceVersion && resourceVersion !== object.metadata.resourceVersion) throw conflict(nameOf(place));
    return this.#replace(place, sent, manager);
  }

  merge(place: Place, patch: Sent, manager: string): StoredObject {
    const { object } = this.#entry(place);
    this.#checkPatch(place, object, patch);
    return this.#replace(place, mergePatch(object, patch) as Sent, manager);
  }

  apply(place: Place, sent: Sent, application: Application): StoredObject {
    const entry = this.#entries.get(keyOf(place));
    if (!entry) {
      if (sent.metadata?.uid) throw otherUid(nameOf(place));
      if (place.isStatus) throw notFound(nameOf(place));
      const { resourceVersion: _ignored, ...metadata } = sent.metadata ?? {};
      const object = this.#fresh(place, { ...sent, metadata });
      const owners: Owners = new Map();
      applyTo(object, owners, { ...sent, metadata }, application);
      return this.#add(place, { object, owners });
    }
    this.#checkPatch(place, entry.object, sent);
    const object = structuredClone(entry.object);
    const owners: Owners = new Map([...entry.owners].map(([owner, leaves]) => [owner, new Set(leaves)]));
    const { status, ...rest } = sent;
    const part: Sent = !place.isStatus ? rest : status === undefined ? {} : { status };
    const manager = place.isStatus ? `${application.manager} (status)` : application.manager;
    applyTo(object, owners, part, { ...application, manager });
    for (const [owner, leaves] of owners) entry.owners.set(owner, leaves);
    return this.#save(place, entry, object);
  }

  delete(place: Place, preconditions: { readonly uid?: string; readonly resourceVersion?: string } = {}): StoredObject {
    const entry = this.#entry(place);
    const { metadata } = entry.object;
    if (preconditions.uid && preconditions.uid !== metadata.uid) throw conflict(nameOf(place));
    if (preconditions.resourceVersion && preconditions.resourceVersion !== metadata.resourceVersion) {
      throw conflict(nameOf(place));
    }
    if ((metadata.finalizers ?? []).length === 0) return this.#remove(place);
    const object = structuredClone(entry.object);
    object.metadata.deletionTimestamp ??= now();
    return this.#save(place, entry, object);
  }

  #entry(place: Place): Entry {
    const entry = this.#entries.get(keyOf(place));
    if (!entry) throw notFound(nameOf(place));
    return entry;
  }

  #checkPatch(place: Place, object: StoredObject, patch: Sent): void {
    const { uid, resourceVersion } = patch.metadata ?? {};
    if (uid !== undefined && uid !== object.metadata.uid) throw otherUid(nameOf(place));
    if (resourceVersion && resourceVersion !== object.metadata.resourceVersion) throw conflict(nameOf(place));
  }

  #replace(place: Place, sent: Sent, manager: string): StoredObject {
    const entry = this.#entry(place);
    const { status, ...rest } = sent;
    const { status: liveStatus, ...live } = entry.object;
    const kept = place.isStatus ? live : rest;
    const newStatus = place.isStatus ? status : liveStatus;
    const object = structuredClone({
      ...kept,
      apiVersion: entry.object.apiVersion,
      kind: entry.object.kind,
      metadata: { ...(place.isStatus ? live.metadata : sent.metadata), ...identityOf(entry.object) },
      ...(newStatus === undefined ? {} : { status: newStatus }),
    }) as StoredObject;
    takeChanged(entry.object, object, entry.owners, manager);
    return this.#save(place, entry, object);
  }

  #fresh(place: Place, sent: Sent): StoredObject {
    const { status: _status, ...rest } = sent;
    return structuredClone({
      ...rest,
      apiVersion: place.group === "" ? place.version : `${place.group}/${place.version}`,
      kind: place.kind,
      metadata: {
        ...sent.metadata,
        name: place.name,
        ...(place.namespace === undefined ? {} : { namespace: place.namespace }),
        uid: randomUUID(),
        resourceVersion: "",
        generation: 1,
        creationTimestamp: now(),
      },
    });
  }

  #add(place: Place, entry: Entry): StoredObject {
    this.#entries.set(keyOf(place), entry);
    this.#stamp(place, entry, "ADDED", undefined);
    return entry.object;
  }

  /** A write that changes nothing makes no version. */
  #save(place: Place, entry: Entry, object: StoredObject): StoredObject {
    const previous = entry.object;
    if (isDeepStrictEqual(withoutManagers(previous), withoutManagers(object))) return previous;
    if (!isDeepStrictEqual(previous["spec"], object["spec"])) object.metadata.generation += 1;
    entry.object = object;
    if (object.metadata.deletionTimestamp && (object.metadata.finalizers ?? []).length === 0)
      return this.#remove(place);
    this.#stamp(place, entry, "MODIFIED", previous);
    return object;
  }

  #remove(place: Place): StoredObject {
    const entry = this.#entry(place);
    const previous = entry.object;
    entry.object = structuredClone(previous);
    this.#entries.delete(keyOf(place));
    this.#stamp(place, entry, "DELETED", previous);
    return entry.object;
  }

  #stamp(place: Place, entry: Entry, type: HistoryEvent["type"], previous: StoredObject | undefined): void {
    this.version += 1;
    entry.object.metadata.resourceVersion = String(this.version);
    entry.object.metadata.managedFields = [...entry.owners.keys()].map((manager) => ({ manager }));
    const event = { version: this.version, collection: collectionOf(place), type, object: entry.object, previous };
    this.history.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}

const now = () => new Date().toISOString().replace(/\.\d+Z$/, "Z");

function identityOf({ metadata }: StoredObject) {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
}

function withoutManagers(object: StoredObject) {
  const { managedFields: _managers, ...metadata } = object.metadata;
  return { ...object, metadata };
}
