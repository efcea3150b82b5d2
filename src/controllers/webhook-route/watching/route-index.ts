import type { WebhookRoute } from "../../../api/generated/webhook-route.ts";
import type { KubeObject, Live } from "../../../kube/objects.ts";
import { isNewer } from "../../../kube/resource-version.ts";
import { addTo, placeKey, removeFrom } from "../publishing/publications.ts";
import { envSecretNames } from "../workers/worker-refusals.ts";

/** A WebhookRoute as the API server has it. Its spec passed the schema of the CRD that is installed, not more. */
export type RouteObject = KubeObject & Pick<WebhookRoute, "spec" | "status">;

/** What a route depends on, found by what it depends on. Keys of routes are `namespace/name`. */
export class RouteIndex {
  readonly #routes = new Map<string, Live<RouteObject>>();
  readonly #bySecret = new Map<string, Set<string>>();
  readonly #byPlace = new Map<string, Set<string>>();
  readonly #byHost = new Map<string, Set<string>>();
  readonly #byNamespace = new Map<string, Set<string>>();

  get size(): number {
    return this.#routes.size;
  }

  get(key: string): Live<RouteObject> | undefined {
    return this.#routes.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#routes.keys();
  }

  /** A route is there, or changed, or had its status written. What is older than what is known changes nothing. */
  put(key: string, route: Live<RouteObject>): void {
    const before = this.#routes.get(key);
    const { uid, resourceVersion } = route.metadata;
    if (before?.metadata.uid === uid && isNewer(before.metadata.resourceVersion, resourceVersion)) return;
    this.remove(key);
    this.#routes.set(key, before === undefined ? route : withSpecOf(before, route));
    this.#eachSet(route, (sets, value) => addTo(sets, value, key));
  }

  /** What a write of this process was answered: nothing any more when the watch has told meanwhile that it is gone, or is another one by now. */
  putWritten(key: string, route: Live<RouteObject>): void {
    if (this.#routes.get(key)?.metadata.uid === route.metadata.uid) this.put(key, route);
  }

  /** It is gone. */
  remove(key: string): void {
    const before = this.#routes.get(key);
    if (before === undefined) return;
    this.#routes.delete(key);
    this.#eachSet(before, (sets, value) => removeFrom(sets, value, key));
  }

  /** Routes that refer to a Secret (`namespace/name`). */
  ofSecret(secret: string): readonly string[] {
    return [...(this.#bySecret.get(secret) ?? [])];
  }

  /** Routes that want a place (`host path`). */
  ofPlace(place: string): readonly string[] {
    return [...(this.#byPlace.get(place) ?? [])];
  }

  ofHost(host: string): readonly string[] {
    return [...(this.#byHost.get(host) ?? [])];
  }

  ofNamespace(namespace: string): readonly string[] {
    return [...(this.#byNamespace.get(namespace) ?? [])];
  }

  namespaces(): IterableIterator<string> {
    return this.#byNamespace.keys();
  }

  hosts(): IterableIterator<string> {
    return this.#byHost.keys();
  }

  #eachSet(route: Live<RouteObject>, change: (sets: Map<string, Set<string>>, value: string) => void): void {
    const { namespace = "" } = route.metadata;
    const names = new Set([...secretNames(route), ...envSecretNames(route.spec.worker?.dedicated)]);
    for (const name of names) change(this.#bySecret, `${namespace}/${name}`);
    change(this.#byPlace, placeKey(route.spec.exposure));
    change(this.#byHost, route.spec.exposure.host);
    change(this.#byNamespace, namespace);
  }
}

/** A write of the status leaves the spec as it was: then it stays the same object, so that what is known of it need not be found out again. */
function withSpecOf(before: Live<RouteObject>, route: Live<RouteObject>): Live<RouteObject> {
  const { uid, generation } = route.metadata;
  const isSame = generation !== undefined && before.metadata.uid === uid && before.metadata.generation === generation;
  return isSame ? { ...route, spec: before.spec } : route;
}

/** Names of the Secrets whose values a route's entry needs, in its own namespace. */
export function secretNames({ spec }: Pick<RouteObject, "spec">): ReadonlySet<string> {
  const signing = signingRef({ spec });
  return new Set([
    ...(spec.secretRefs ?? []).map(({ name }) => name),
    ...(signing === undefined ? [] : [signing.name]),
  ]);
}

/** The key that a route's deliveries are signed with. */
export function signingRef({
  spec,
}: Pick<RouteObject, "spec">): { readonly name: string; readonly key: string } | undefined {
  return spec.delivery?.signing?.secretRef;
}
