import type { KubeObject } from "./objects.ts";

declare const objectType: unique symbol;

/** A kind of object and where the API server serves it. `T` is the type of its objects. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly [objectType]?: T;
}

/** Part of an object with an endpoint of its own. */
export type Subresource = "status" | "scale";

/** `v1`, `apps/v1`. */
export function apiVersionOf({ group, version }: ResourceType): string {
  return group === "" ? version : `${group}/${version}`;
}

/** `/api/v1`, `/apis/apps/v1`. */
export function groupVersionPath({ group, version }: ResourceType): string {
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** Path of a collection: in one namespace, or over all namespaces when `namespace` is undefined. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const scope = type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${groupVersionPath(type)}${scope}/${type.plural}`;
}

/**
 * Path of one object, or of a subresource of it.
 * @throws TypeError if a namespaced kind comes without a namespace or the name is empty: the path would be another object's
 */
export function objectPath(
  type: ResourceType,
  ref: { readonly namespace?: string | undefined; readonly name: string },
  subresource?: Subresource,
): string {
  if (ref.name === "") throw new TypeError(`a ${type.kind} needs a name`);
  if (type.namespaced && !ref.namespace) throw new TypeError(`${type.kind} ${ref.name} needs a namespace`);
  const path = `${collectionPath(type, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}
