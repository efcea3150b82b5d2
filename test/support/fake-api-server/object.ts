/** An object as the fake keeps it. */
export interface StoredObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    resourceVersion: string;
    generation: number;
    creationTimestamp: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    managedFields?: unknown[];
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

/** What a client sends. */
export type Sent = Record<string, unknown> & { metadata?: Partial<StoredObject["metadata"]> };

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** JSON merge patch (RFC 7386 §2). */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  const result: Record<string, unknown> = isMap(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

/** Fields that nobody owns. */
const IDENTITY = new Set(["apiVersion", "kind"]);
const IDENTITY_OF_METADATA = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "managedFields",
]);

/** The leaves of an object by path; a list is one leaf. */
export function leavesOf(object: Record<string, unknown>): Map<string, unknown> {
  const leaves = new Map<string, unknown>();
  const walk = (value: unknown, path: readonly string[]) => {
    if (path.length === 1 && IDENTITY.has(path[0] ?? "")) return;
    if (path.length === 2 && path[0] === "metadata" && IDENTITY_OF_METADATA.has(path[1] ?? "")) return;
    if (isMap(value) && Object.keys(value).length > 0) {
      for (const [name, inner] of Object.entries(value)) walk(inner, [...path, name]);
    } else if (path.length > 1 || !isMap(value)) leaves.set(JSON.stringify(path), value);
  };
  walk(object, []);
  return leaves;
}

/** Sets one leaf, or removes it with `undefined`, making and dropping maps on the way. */
export function setLeaf(object: Record<string, unknown>, leaf: string, value: unknown): void {
  const path = JSON.parse(leaf) as string[];
  const parents = [object];
  for (const name of path.slice(0, -1)) {
    const parent = parents.at(-1) ?? object;
    if (!isMap(parent[name])) parent[name] = {};
    parents.push(parent[name] as Record<string, unknown>);
  }
  const last = parents.at(-1) ?? object;
  const name = path.at(-1) ?? "";
  if (value !== undefined) {
    last[name] = value;
    return;
  }
  delete last[name];
  for (let depth = parents.length - 1; depth > 0; depth--) {
    const inner = parents[depth] ?? {};
    if (Object.keys(inner).length === 0) delete parents[depth - 1]?.[path[depth - 1] ?? ""];
  }
}
