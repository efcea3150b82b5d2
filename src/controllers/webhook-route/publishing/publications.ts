import {
  COMPONENT_LABEL,
  ENTRY_SECRET_TYPE,
  entrySecretName,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NAMESPACE_UID_ANNOTATION,
  ROUTE_ANNOTATION,
} from "../../../api/names.ts";
import type { Secret } from "../../../kube/core-types.ts";
import { type Live, refOf } from "../../../kube/objects.ts";
import type { Claim } from "../../../routes/claims.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import {
  PUBLICATION_KEY,
  type Publication,
  readPublication,
  type ReleasedPlace,
  type UnusablePublication,
} from "../../../routes/publication.ts";
import { FreshStore } from "../../publishing/fresh-store.ts";

/** One entry Secret, read. Holds the only parsed copy of an entry in the controller. */
export interface EntrySecret {
  /** Name of the Secret. */
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `namespace/name` of the route it was written for; "" when the annotation is missing. */
  readonly route: string;
  readonly namespaceUid: string;
  /** Lacks a label by which gateways and controllers find it. */
  readonly isUnmarked?: true;
  /** `undefined` when it cannot be used: see {@link problem}. */
  readonly publication?: Publication;
  readonly problem?: UnusablePublication;
}

/** Reads an entry Secret as the API server has it. Never throws. */
export function readEntrySecret(secret: Live<Secret>): EntrySecret {
  const json = Buffer.from(secret.data?.[PUBLICATION_KEY] ?? "", "base64").toString("utf8");
  const reading = readPublication(json);
  const read = reading.ok ? { publication: reading.publication } : { problem: reading };
  const instance = reading.ok && "entry" in reading.publication ? reading.publication.entry.instance : undefined;
  const identity = { ...identityOf(secret), ...(!isMarked(secret, instance) && { isUnmarked: true as const }) };
  if (!reading.ok || identity.route !== "") return { ...identity, ...read };
  // Somebody took the annotation away.
  const { namespace, name } = "entry" in reading.publication ? reading.publication.entry : reading.publication.released;
  return { ...identity, ...read, route: `${namespace}/${name}` };
}

/** What {@link readEntrySecret} would make of a Secret that was just written, without parsing it again. */
export function writtenEntrySecret(secret: Live<Secret>, publication: Publication): EntrySecret {
  return { ...identityOf(secret), publication };
}

function isMarked({ metadata: { labels = {} } }: Live<Secret>, instance: string | undefined): boolean {
  const wanted = labelsOf(instance ?? labels[INSTANCE_LABEL] ?? "");
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

function labelsOf(instance: string): Readonly<Record<string, string>> {
  return { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: instance, [COMPONENT_LABEL]: "entry" };
}

function identityOf({ metadata }: Live<Secret>): Omit<EntrySecret, "publication" | "problem"> {
  const { name, uid, resourceVersion, annotations } = metadata;
  const route = annotations?.[ROUTE_ANNOTATION] ?? "";
  return { name, uid, resourceVersion, route, namespaceUid: annotations?.[NAMESPACE_UID_ANNOTATION] ?? "" };
}

/** Where and for whom an entry Secret is written. */
export interface EntrySecretPlace {
  readonly instance: string;
  /** `<release>-routes`. */
  readonly namespace: string;
  readonly name: string;
  /** `namespace/name`. */
  readonly route: string;
  readonly namespaceUid: string;
}

/** The Secret that says a publication. */
export function entrySecret(place: EntrySecretPlace, publication: Publication): Secret {
  return {
    metadata: {
      name: place.name,
      namespace: place.namespace,
      labels: labelsOf(place.instance),
      annotations: { [ROUTE_ANNOTATION]: place.route, [NAMESPACE_UID_ANNOTATION]: place.namespaceUid },
    },
    type: ENTRY_SECRET_TYPE,
    data: { [PUBLICATION_KEY]: Buffer.from(JSON.stringify(publication)).toString("base64") },
  };
}

/**
 * Name of the Secret that keeps a place which a route has moved away from. `@` is in no route's name, so it is no other route's entry Secret.
 */
export function claimSecretName(instance: string, claim: Pick<Claim, "namespace" | "name" | "host" | "path">): string {
  return entrySecretName(instance, claim.namespace, `${claim.name}@${claim.host}${claim.path}`);
}

/** The entry a Secret publishes, if it publishes one. */
export function entryIn(secret: EntrySecret | undefined): RouteEntry | undefined {
  const publication = secret?.publication;
  return publication !== undefined && "entry" in publication ? publication.entry : undefined;
}

/** The claim that a Secret stands for: of a served route, or a released one. What a newer version publishes is left alone, its place too. */
export function claimIn(secret: EntrySecret): Claim | undefined {
  const { publication, problem } = secret;
  if (problem?.code === "TooNew" && problem.place) {
    const { namespace = "", name } = refOf(secret.route);
    return { namespace, name, ...problem.place };
  }
  if (publication === undefined) return undefined;
  if ("released" in publication) return publication.released;
  const { namespace, name, host, path } = publication.entry;
  return { namespace, name, host, path };
}

/** What a route that was deleted, or moved away, left behind in a Secret. */
export function releasedIn({ publication }: EntrySecret): ReleasedPlace | undefined {
  return publication !== undefined && "released" in publication ? publication.released : undefined;
}

/** Key of a place: `host path`. */
export function placeKey({ host, path }: { readonly host: string; readonly path: string }): string {
  return `${host} ${path}`;
}

/** Hears that another state of an entry Secret is known: what a watch showed, or what was written here. */
export type PublicationListener = (before: EntrySecret | undefined, after: EntrySecret | undefined) => void;

/** Everything that is published, found by name, by route and by place. */
export class Publications {
  readonly #store = new FreshStore<EntrySecret>();
  readonly #byRoute = new Map<string, Set<string>>();
  readonly #byPlace = new Map<string, Set<string>>();
  readonly #byNamespace = new Map<string, Set<string>>();
  readonly #listeners: PublicationListener[] = [];
  #highestSeq = 0;

  /** Highest `seq` ever seen. */
  get highestSeq(): number {
    return this.#highestSeq;
  }

  get size(): number {
    return this.#store.size;
  }

  get(name: string): EntrySecret | undefined {
    return this.#store.get(name);
  }

  all(): IterableIterator<EntrySecret> {
    return this.#store.values();
  }

  /** Every Secret written for a route: its entry, and claims on places it has moved away from. */
  ofRoute(route: string): EntrySecret[] {
    return this.#named(this.#byRoute.get(route));
  }

  /** Every Secret written for routes of a namespace. */
  inNamespace(namespace: string): EntrySecret[] {
    return this.#named(this.#byNamespace.get(namespace));
  }

  /** Every Secret that claims a place. */
  at(place: string): EntrySecret[] {
    return this.#named(this.#byPlace.get(place));
  }

  onChange(listener: PublicationListener): void {
    this.#listeners.push(listener);
  }

  /** Takes over what was seen or written, unless something newer is known. */
  put(secret: EntrySecret): void {
    const before = this.#store.get(secret.name);
    if (!this.#store.put(secret.name, secret)) return;
    this.#unindex(before);
    this.#index(secret);
    this.#highestSeq = Math.max(this.#highestSeq, secret.publication?.seq ?? secret.problem?.seq ?? 0);
    this.#tell(before, secret);
  }

  /** The watch shows that it is gone. */
  gone(name: string, resourceVersion: string): void {
    const before = this.#store.get(name);
    if (!this.#store.gone(name, resourceVersion)) return;
    this.#unindex(before);
    this.#tell(before, undefined);
  }

  /** It was deleted by this process, or a read found none. */
  drop(name: string): void {
    const before = this.#store.get(name);
    if (before === undefined) return;
    this.#unindex(before);
    this.#store.drop(name);
    this.#tell(before, undefined);
  }

  #tell(before: EntrySecret | undefined, after: EntrySecret | undefined): void {
    for (const listener of this.#listeners) listener(before, after);
  }

  #named(names: ReadonlySet<string> | undefined): EntrySecret[] {
    return [...(names ?? [])].flatMap((name) => this.#store.get(name) ?? []);
  }

  #index(secret: EntrySecret): void {
    const claim = claimIn(secret);
    addTo(this.#byRoute, secret.route, secret.name);
    addTo(this.#byNamespace, namespaceOf(secret), secret.name);
    if (claim !== undefined) addTo(this.#byPlace, placeKey(claim), secret.name);
  }

  #unindex(secret: EntrySecret | undefined): void {
    if (secret === undefined) return;
    const claim = claimIn(secret);
    removeFrom(this.#byRoute, secret.route, secret.name);
    removeFrom(this.#byNamespace, namespaceOf(secret), secret.name);
    if (claim !== undefined) removeFrom(this.#byPlace, placeKey(claim), secret.name);
  }
}

/** Namespace of the route that a Secret was written for. */
export function namespaceOf(secret: Pick<EntrySecret, "route">): string {
  return refOf(secret.route).namespace ?? "";
}

/** Adds to one of several sets, made when needed. */
export function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

/** Removes from one of several sets; an empty one goes. */
export function removeFrom<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
