/** A pod as far as the fake kubelet reads it. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly automountServiceAccountToken?: boolean;
    readonly containers: readonly Container[];
    readonly volumes?: readonly Volume[];
  };
  readonly status: { readonly phase?: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFrom[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[];
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
}

interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: KeyRef;
    readonly configMapKeyRef?: KeyRef;
    readonly resourceFieldRef?: { readonly resource: string };
  };
}

export interface ObjectRef {
  readonly name: string;
  readonly optional?: boolean;
}

export interface EnvFrom {
  readonly prefix?: string;
  readonly secretRef?: ObjectRef;
  readonly configMapRef?: ObjectRef;
}

export interface Item {
  readonly key: string;
  readonly path: string;
}

export interface VolumeSource {
  readonly secret?: {
    readonly secretName?: string;
    readonly name?: string;
    readonly items?: readonly Item[];
    readonly optional?: boolean;
  };
  readonly configMap?: ObjectRef & { readonly items?: readonly Item[] };
  readonly downwardAPI?: {
    readonly items?: readonly { readonly path: string; readonly fieldRef?: { readonly fieldPath: string } }[];
  };
  readonly serviceAccountToken?: { readonly path: string };
}

export interface Volume extends VolumeSource {
  readonly name: string;
  readonly emptyDir?: object;
  readonly projected?: { readonly sources: readonly VolumeSource[] };
}

/** Looks up the data of a Secret or ConfigMap in the pod's namespace; undefined when there is none. */
export type Lookup = (kind: "Secret" | "ConfigMap", name: string) => Promise<ReadonlyMap<string, Buffer> | undefined>;

/** A Secret or ConfigMap that the pod needs is not there: the container waits, as under a real kubelet. */
export class MissingObjectError extends Error {
  readonly code = "MissingObject";
}

/** Processes of the fake kubelet's pods share this machine, whatever address the status shows. */
const LOOPBACK = "127.0.0.1";

/** Value of a downward API field. @throws Error for one that is not known here */
export function fieldValue(pod: Pod, fieldPath: string): string {
  const subscript = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(fieldPath);
  if (subscript !== null) return pod.metadata[subscript[1] as "labels" | "annotations"]?.[subscript[2] ?? ""] ?? "";
  const fields: Record<string, string | undefined> = {
    "metadata.name": pod.metadata.name,
    "metadata.namespace": pod.metadata.namespace,
    "metadata.uid": pod.metadata.uid,
    "spec.nodeName": pod.spec.nodeName,
    "spec.serviceAccountName": pod.spec.serviceAccountName,
    "status.podIP": LOOPBACK,
    "status.podIPs": LOOPBACK,
    "status.hostIP": LOOPBACK,
    "status.hostIPs": LOOPBACK,
  };
  const value = fields[fieldPath];
  if (value === undefined) throw new Error(`the fake kubelet knows no field ${fieldPath}`);
  return value;
}

/** Replaces `$(NAME)` by the variable; `$$` escapes a dollar sign and unknown names stay (Kubernetes: "dependent variables"). */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (found, name?: string) =>
    name === undefined ? "$" : (env[name] ?? found),
  );
}

/** The data of an object. @throws MissingObjectError when it is neither there nor optional */
export async function dataOf(lookup: Lookup, kind: "Secret" | "ConfigMap", ref: ObjectRef) {
  const data = await lookup(kind, ref.name);
  if (data === undefined && ref.optional !== true) throw new MissingObjectError(`${kind} ${ref.name} is missing`);
  return data ?? new Map<string, Buffer>();
}

async function keyValue(lookup: Lookup, kind: "Secret" | "ConfigMap", ref: KeyRef): Promise<string | undefined> {
  const value = (await dataOf(lookup, kind, ref)).get(ref.key);
  if (value === undefined && ref.optional !== true)
    throw new MissingObjectError(`${kind} ${ref.name} has no ${ref.key}`);
  return value?.toString();
}

async function valueOf(pod: Pod, { name, valueFrom = {} }: EnvVar, lookup: Lookup): Promise<string | undefined> {
  const { fieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
  if (fieldRef !== undefined) return fieldValue(pod, fieldRef.fieldPath);
  if (secretKeyRef !== undefined) return keyValue(lookup, "Secret", secretKeyRef);
  if (configMapKeyRef !== undefined) return keyValue(lookup, "ConfigMap", configMapKeyRef);
  throw new Error(`the fake kubelet cannot resolve the variable ${name}`);
}

async function variablesOf(source: EnvFrom, lookup: Lookup): Promise<[string, string][]> {
  const { secretRef, configMapRef, prefix = "" } = source;
  const data = [
    ...(secretRef === undefined ? [] : await dataOf(lookup, "Secret", secretRef)),
    ...(configMapRef === undefined ? [] : await dataOf(lookup, "ConfigMap", configMapRef)),
  ];
  return data.map(([key, value]) => [prefix + key, value.toString()]);
}

/** The container's environment by its spec alone. @throws MissingObjectError */
export async function environment(pod: Pod, container: Container, lookup: Lookup): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const source of container.envFrom ?? [])
    Object.assign(env, Object.fromEntries(await variablesOf(source, lookup)));
  for (const variable of container.env ?? []) {
    const value =
      variable.valueFrom === undefined ? expand(variable.value ?? "", env) : await valueOf(pod, variable, lookup);
    if (value !== undefined) env[variable.name] = value;
  }
  return env;
}
