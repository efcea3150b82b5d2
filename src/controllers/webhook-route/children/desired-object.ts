import { DESIRED_HASH_ANNOTATION, INSTANCE_LABEL, MANAGED_BY, MANAGED_BY_LABEL } from "../../../api/names.ts";
import type { KubeObject, ObjectMeta } from "../../../kube/objects.ts";
import { shortHash } from "../../../lib/hash.ts";
import { fieldOf, isRecord } from "../../../lib/record.ts";
import { sameQuantity } from "./quantity.ts";

/** A child as it should be: what is written by server-side apply. Holds only fields that Davit means to own. */
export interface DesiredObject extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Pick<ObjectMeta, "ownerReferences"> & {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** A {@link DesiredObject} before it has the labels and annotations that all have. */
export interface Draft {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Pick<ObjectMeta, "ownerReferences"> & {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/**
 * Finishes a child: labels that every object of Davit has, nothing empty that the API server would drop, and a hash of it all. Without the hash
 * a field that Davit stops setting would stay for ever, as the live object still has every field of the desired one. A Secret has none: it would
 * be a hash of secrets for everybody who may read metadata, and its keys are fixed anyway.
 */
export function desiredObject(instance: string, draft: Draft): DesiredObject {
  const { labels, annotations = {}, ...metadata } = draft.metadata;
  const object: DesiredObject = {
    ...(compact(draft) as Draft),
    metadata: {
      ...metadata,
      labels: { ...labels, [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: instance },
      annotations,
    },
  };
  if (draft.kind === "Secret") return object;
  const hashed = { ...annotations, [DESIRED_HASH_ANNOTATION]: shortHash(JSON.stringify(object)) };
  return { ...object, metadata: { ...object.metadata, annotations: hashed } };
}

/** Without `undefined`, empty lists, and maps that are empty only because of that: the API server returns none of them. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, before]): [string, unknown, unknown] => [name, before, compact(before)])
      .filter(([, before, after]) => after !== undefined && !isEmptied(before, after))
      .map(([name, , after]) => [name, after]),
  );
}

/** `emptyDir: {}` says something, `{ nodeSelector: undefined }` does not. */
function isEmptied(before: unknown, after: unknown): boolean {
  if (Array.isArray(after)) return after.length === 0;
  return isRecord(before) && isRecord(after) && Object.keys(before).length > 0 && Object.keys(after).length === 0;
}

/**
 * Whether the live object has every field of the desired one, so that there is nothing to write. Fields that Davit does not set may have any
 * value: they are the API server's defaults, or somebody else's.
 */
export function covers(live: KubeObject | undefined, desired: DesiredObject): boolean {
  return difference(live, desired) === undefined;
}

/**
 * The first field in which the live object differs, for a log line: `spec.replicas`; "" when there is no live object. Names fields, never
 * values. `apiVersion` and `kind` are not looked at: lists of the API server leave them out.
 */
export function difference(live: KubeObject | undefined, desired: DesiredObject): string | undefined {
  if (live === undefined) return "";
  const { apiVersion: _version, kind: _kind, ...fields } = desired;
  return differenceOf(live, fields, []);
}

type Path = readonly string[];

/** Lists that server-side apply merges by key (`x-kubernetes-list-map-keys` of the built-in kinds): others may add elements. */
const KEYED_LISTS: Readonly<Record<string, readonly string[]>> = {
  ownerReferences: ["uid"],
  containers: ["name"],
  volumes: ["name"],
  env: ["name"],
  imagePullSecrets: ["name"],
  volumeMounts: ["mountPath"],
  ports: ["containerPort"],
  topologySpreadConstraints: ["topologyKey", "whenUnsatisfiable"],
};

function differenceOf(live: unknown, desired: unknown, path: Path): string | undefined {
  if (desired === undefined) return undefined;
  if (Array.isArray(desired)) return listDifference(live, desired, path);
  if (isRecord(desired)) {
    if (!isRecord(live)) return show(path);
    return first(Object.entries(desired), ([name, value]) => differenceOf(live[name], value, [...path, name]));
  }
  return isSameScalar(live, desired, path) ? undefined : show(path);
}

function listDifference(live: unknown, desired: readonly unknown[], path: Path): string | undefined {
  if (live === undefined && desired.length === 0) return undefined;
  if (!Array.isArray(live)) return show(path);
  const keys = KEYED_LISTS[path.at(-1) ?? ""];
  if (keys === undefined) {
    if (live.length !== desired.length) return show(path);
    return first([...desired.entries()], ([index, item]) => differenceOf(live[index], item, [...path, `${index}`]));
  }
  return first([...desired.entries()], ([index, item]) => {
    const match = live.find((candidate) => keys.every((key) => fieldOf(candidate, key) === fieldOf(item, key)));
    return differenceOf(match, item, [...path, `${index}`]);
  });
}

/** An empty string is not stored where it is the default (`omitempty` of the built-in types). */
function isSameScalar(live: unknown, desired: unknown, path: Path): boolean {
  if (live === desired || (live === undefined && desired === "")) return true;
  if (isQuantity(path)) return sameQuantity(live, desired);
  return isIntOrString(path) && typeof live !== "boolean" && String(live) === String(desired);
}

function isQuantity(path: Path): boolean {
  const [parent, name] = path.slice(-2);
  return parent === "requests" || parent === "limits" || name === "averageValue" || name === "sizeLimit";
}

function isIntOrString(path: Path): boolean {
  return ["maxUnavailable", "maxSurge", "port"].includes(path.at(-1) ?? "");
}

function first<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function show(path: Path): string {
  return path.join(".");
}
