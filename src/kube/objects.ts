/** Reference from a child to the object that owns it (`metadata.ownerReferences[]`); the garbage collector deletes the child with its owner. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `metadata` of an object as JSON has it: times are RFC 3339 strings. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly unknown[];
}

/** Any Kubernetes object that Davit reads or writes. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object as the API server returned it: with an identity and a version. */
export type Live<T extends KubeObject = KubeObject> = T & {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
};

/**
 * A model type of `@kubernetes/client-node` (imported with `import type`, which is free) as JSON carries it: its `Date`s are strings.
 * The library renames fields that are reserved words (`_from`, `_continue`); JSON does not, so such a field needs a type of its own.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Wire<T[Key]> }
      : T;

/** A built-in kind from its model type in `@kubernetes/client-node`: `BuiltIn<V1Deployment>`. */
export type BuiltIn<T> = Omit<Wire<T>, "metadata"> & KubeObject;

/** Where an object is. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Key of an object in caches and queues: `namespace/name`, or `name` for cluster-scoped kinds. */
export function keyOf(object: KubeObject): string {
  return refKey(object.metadata);
}

/** {@link keyOf} for a reference. */
function refKey(ref: ObjectRef): string {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}

/** The reference that a key of {@link keyOf} stands for. */
export function refOf(key: string): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * An object without what a cache need not hold: `managedFields` and kubectl's copy of the whole object in an annotation (often half of its size,
 * and in a Secret a second copy of the secret).
 */
export function slim<T extends KubeObject>(object: T): T {
  const { managedFields: _managed, annotations, ...metadata } = object.metadata;
  if (!annotations) return { ...object, metadata };
  const { [LAST_APPLIED]: _applied, ...kept } = annotations;
  return { ...object, metadata: { ...metadata, annotations: kept } };
}
