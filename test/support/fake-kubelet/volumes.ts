import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Container, dataOf, fieldValue, type Item, type Lookup, type Pod, type VolumeSource } from "./pod-spec.ts";

/** Relative file names and their content. */
type Files = Map<string, Buffer>;

/** Gives a token of the pod's service account. */
export type TokenSource = () => Promise<string>;

function pick(data: ReadonlyMap<string, Buffer>, items: readonly Item[] | undefined): [string, Buffer][] {
  if (items === undefined) return [...data];
  return items.flatMap(({ key, path }) => (data.has(key) ? [[path, data.get(key) as Buffer]] : []));
}

async function filesOf(pod: Pod, source: VolumeSource, lookup: Lookup, token: TokenSource): Promise<Files> {
  const files: Files = new Map();
  const add = (entries: readonly [string, Buffer][]) => entries.forEach(([name, content]) => files.set(name, content));
  const { secret, configMap, downwardAPI, serviceAccountToken } = source;
  if (secret !== undefined) {
    const ref = { name: secret.secretName ?? secret.name ?? "", optional: secret.optional ?? false };
    add(pick(await dataOf(lookup, "Secret", ref), secret.items));
  }
  if (configMap !== undefined) add(pick(await dataOf(lookup, "ConfigMap", configMap), configMap.items));
  for (const { path, fieldRef } of downwardAPI?.items ?? []) {
    if (fieldRef !== undefined) files.set(path, Buffer.from(fieldValue(pod, fieldRef.fieldPath)));
  }
  if (serviceAccountToken !== undefined) files.set(serviceAccountToken.path, Buffer.from(await token()));
  return files;
}

/**
 * Writes the pod's volumes below `dir`, once: later changes of a Secret do not reach a running pod.
 * @returns where each mount path of the container stands on this machine
 * @throws MissingObjectError
 */
export async function writeVolumes(
  dir: string,
  pod: Pod,
  container: Container,
  { lookup, token }: { readonly lookup: Lookup; readonly token: TokenSource },
): Promise<ReadonlyMap<string, string>> {
  for (const volume of pod.spec.volumes ?? []) {
    const folder = join(dir, volume.name);
    mkdirSync(folder, { recursive: true });
    for (const source of volume.projected?.sources ?? [volume]) {
      for (const [name, content] of await filesOf(pod, source, lookup, token)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), content, { mode: 0o600 });
      }
    }
  }
  const mounts = container.volumeMounts ?? [];
  return new Map(mounts.map(({ name, mountPath, subPath }) => [mountPath, join(dir, name, subPath ?? "")]));
}

/** Replaces mount paths in a text by where they stand on this machine: the longest first, and whole path segments only. */
export function relocate(text: string, mounts: ReadonlyMap<string, string>): string {
  const paths = [...mounts.keys()].toSorted((a, b) => b.length - a.length);
  if (paths.length === 0) return text;
  const pattern = paths.map((path) => path.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join("|");
  return text.replaceAll(new RegExp(`(?<![\\w./-])(${pattern})(?![\\w.-])`, "g"), (path) => mounts.get(path) ?? path);
}
