import {
  formatManifestProblem,
  type ManifestProblem,
  type Manifests,
  type RouteManifest,
} from "../../api/manifests.ts";
import { devUid } from "../../api/names.ts";
import { compile, type CompileResult, sameEntry, type ServiceTarget, stamp } from "../../routes/compile.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { placeConflicts } from "../place-conflicts.ts";
import type { Rings } from "./rings.ts";

/** `ns/name` → URL to use instead, from `--service`. */
export type ServiceOverrides = ReadonlyMap<string, string>;

export interface CompilationInput {
  readonly manifests: Manifests;
  readonly rings: Pick<Rings, "releaseKey" | "entries">;
  readonly instance: string;
  readonly services: ServiceOverrides;
  /** Unix ms. */
  readonly now: number;
}

export interface Compilation {
  /** What is to be served now, by `namespace/name`. */
  readonly entries: ReadonlyMap<string, RouteEntry>;
  /** Names of entries that differ from those published. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** One line each. Not empty: nothing of this compilation may be served. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  /** Unix ms at which a key ring must be looked at again. */
  readonly nextChangeAt?: number;
}

/** Compiles all manifests as the controller would, with the entries published last as the state of the key rings. Pure. */
export function compileAll(input: CompilationInput): Compilation {
  const { manifests, rings } = input;
  const mine = manifests.routes.filter(({ spec }) => spec.instance === input.instance);
  const others = manifests.routes.filter(({ spec }) => spec.instance !== input.instance);
  const entries = new Map<string, RouteEntry>();
  const problems: ManifestProblem[] = [...manifests.problems, ...placeConflicts(mine, [...rings.entries.values()])];
  const warnings = others.map(
    ({ namespace, name, spec }) => `${namespace}/${name}: is of instance ${spec.instance}, which this is not; left out`,
  );
  warnings.push(...unusedServices(manifests, input.services));
  const times: number[] = [];
  let seq = Math.max(0, ...[...rings.entries.values()].map((entry) => entry.seq));
  for (const manifest of mine) {
    const key = `${manifest.namespace}/${manifest.name}`;
    const published = rings.entries.get(key);
    const result = compileOne(manifest, published, input);
    const { file, kind, namespace, name } = manifest;
    if (!result.ok) {
      problems.push(...result.problems.map((problem) => ({ file, kind, namespace, name, problem })));
      continue;
    }
    warnings.push(...handlerWarnings(result.entry), ...workerWarnings(manifest));
    warnings.push(...result.unresolved.map(({ path, message }) => `${key}: ${path}: ${message}`));
    if (result.rotation.tooManyChanges)
      warnings.push(`${key}: more than 5 keys; the oldest previous ones were dropped`);
    if (result.rotation.nextChangeAt !== undefined) times.push(result.rotation.nextChangeAt);
    if (published !== undefined && sameEntry(result.entry, published)) entries.set(key, published);
    else {
      const next = stamp(result.entry, seq, input.now);
      seq = next.seq;
      entries.set(key, next);
    }
  }
  return {
    entries,
    changed: [...entries].filter(([key, entry]) => entry !== rings.entries.get(key)).map(([key]) => key),
    removed: [...rings.entries.keys()].filter((key) => !entries.has(key)),
    errors: problems.filter(isError).map(formatManifestProblem),
    warnings: [...problems.filter((problem) => !isError(problem)).map(formatManifestProblem), ...warnings],
    ...(times.length > 0 && { nextChangeAt: Math.min(...times) }),
  };
}

function compileOne(
  { route, namespace }: RouteManifest,
  published: RouteEntry | undefined,
  { manifests, rings, instance, services, now }: CompilationInput,
): CompileResult {
  return compile({
    route,
    namespace,
    namespaceUid: devUid(instance, "Namespace", "", namespace),
    secrets: manifests.secrets.get(namespace) ?? new Map(),
    ...(published && { published }),
    now,
    releaseKey: rings.releaseKey,
    serviceUrl: (service) => serviceUrl(service, services),
  });
}

/** Handlers run in an image of the user's own, which takes a cluster. */
function handlerWarnings({ namespace, name, destinations }: RouteEntry): string[] {
  return destinations
    .filter(({ target }) => target.type === "handler")
    .map(
      (destination) =>
        `${namespace}/${name}: ${destination.name} is a handler; davit dev runs none, its events will die`,
    );
}

/** What only a cluster can do with workers. `concurrency` and `image` are not among it: the one is used, the other goes with a handler. */
const CLUSTER_ONLY = ["replicas", "autoscaling", "resources", "scheduling", "env"] as const;

function workerWarnings({ namespace, name, route }: RouteManifest): string[] {
  const dedicated = route.spec.worker?.dedicated ?? {};
  const ignored = CLUSTER_ONLY.filter((field) => dedicated[field] !== undefined).map(
    (field) => `worker.dedicated.${field}`,
  );
  if (ignored.length === 0) return [];
  return [`${namespace}/${name}: ${ignored.join(", ")}: ignored here; davit dev runs all workers in this process`];
}

/** A `--service` that no route refers to is most likely misspelt. */
function unusedServices(manifests: Manifests, services: ServiceOverrides): string[] {
  const used = new Set(
    manifests.routes.flatMap(({ namespace, spec }) =>
      spec.destinations.map(({ serviceRef }) => `${namespace}/${serviceRef?.name ?? ""}`),
    ),
  );
  return [...services.keys()]
    .filter((name) => !used.has(name))
    .map((name) => `--service ${name}: no route refers to it`);
}

function isError({ problem }: ManifestProblem): boolean {
  return problem.severity === "error";
}

/** A Service on a laptop: what `--service` names, else the same port on loopback. */
export function serviceUrl(service: ServiceTarget, overrides: ServiceOverrides): string {
  const { namespace, name, port, path, scheme } = service;
  const base = overrides.get(`${namespace}/${name}`) ?? `${scheme}://127.0.0.1:${port}`;
  return base.replace(/\/$/, "") + path;
}
