import {
  formatManifestProblem,
  type ManifestProblem,
  type Manifests,
  type ObjectRef,
  type RouteManifest,
} from "../../api/manifests.ts";
import { devUid } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import { compile, type CompileResult, sameEntry, stamp } from "../../routes/compile.ts";
import type { ServiceTarget } from "../../routes/compile-delivery.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { isRevocationDue, revokeCommand, withoutPreviousKeys, withRevocation } from "../../routes/revocation.ts";
import { compileDestinations, type DevDestinations, knownIn } from "./destinations.ts";
import { decidePlaces, type DevConflict, type KnownRoute, type Places } from "./places.ts";
import type { Rings } from "./rings.ts";

/** `ns/name` → URL to use instead, from `--service`. */
export type ServiceOverrides = ReadonlyMap<string, string>;

export interface CompilationInput {
  readonly manifests: Manifests;
  readonly rings: Omit<Rings, "removed">;
  readonly instance: string;
  readonly services: ServiceOverrides;
  /** How long the place of a route that went is held for its namespace, ms. */
  readonly claimHoldMs: number;
  /** Unix ms. */
  readonly now: number;
}

export interface Compilation {
  /** What is to be served now, by `namespace/name`. */
  readonly entries: ReadonlyMap<string, RouteEntry>;
  /** Names of entries that differ from those published. */
  readonly changed: readonly string[];
  /** Published, and not to be served any more. */
  readonly removed: readonly string[];
  /** WebhookDestinations that have their id, by `namespace/name`. */
  readonly destinations: DevDestinations;
  /** Names of those that differ from the ones before, and of those that are gone. */
  readonly changedDestinations: readonly string[];
  readonly removedDestinations: readonly string[];
  /** CleanupPolicies of this instance, and the Secrets of the manifests. */
  readonly policies: Manifests["policies"];
  readonly secrets: Manifests["secrets"];
  /** Routes that do not get the place they want. They are told of, and refuse nothing. */
  readonly conflicts: readonly DevConflict[];
  /** To remember for the next time: claims on places at which nothing is served, and each route of a manifest by `namespace/name`. */
  readonly released: Rings["released"];
  readonly known: Rings["known"];
  /** One line each. Not empty: nothing of this compilation may be served. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  /** Unix ms at which a key ring must be looked at again. */
  readonly nextChangeAt?: number;
}

/** Compiles all manifests as the controller would, with the entries published last as the state of the key rings. Pure. */
export function compileAll(input: CompilationInput): Compilation {
  const { manifests, rings, now } = input;
  const mine = manifests.routes.filter(({ spec }) => spec.instance === input.instance);
  const known: ReadonlyMap<string, KnownRoute> = new Map(
    mine.map((manifest) => [keyOf(manifest), rings.known.get(keyOf(manifest)) ?? { createdAt: now }]),
  );
  const places = decidePlaces({
    routes: mine,
    published: rings.entries,
    released: rings.released,
    known,
    now,
    holdMs: input.claimHoldMs,
  });
  const shared = compileDestinations({
    manifests: manifests.destinations.filter(({ spec }) => spec.instance === input.instance),
    secrets: manifests.secrets,
    before: rings.destinations,
    releaseKey: rings.releaseKey,
    serviceUrl: (service) => serviceUrl(service, input.services),
    now,
  });
  const { entries, problems, warnings, times } = compileRoutes(mine, places, input, shared.destinations);
  times.push(...shared.times, ...(places.nextChangeAt === undefined ? [] : [places.nextChangeAt]));
  const all = [...manifests.problems, ...shared.problems, ...problems];
  return {
    entries,
    changed: [...entries].filter(([key, entry]) => entry !== rings.entries.get(key)).map(([key]) => key),
    removed: [...rings.entries.keys()].filter((key) => !entries.has(key)),
    destinations: shared.destinations,
    changedDestinations: [...shared.destinations]
      .filter(([key, { entry }]) => entry.seq !== rings.destinations.get(key)?.entry.seq)
      .map(([key]) => key),
    removedDestinations: [...rings.destinations.keys()].filter((key) => !shared.destinations.has(key)),
    policies: manifests.policies.filter(({ spec }) => spec.instance === input.instance),
    secrets: manifests.secrets,
    conflicts: places.conflicts,
    released: places.released,
    known,
    errors: all.filter(isError).map(formatManifestProblem),
    warnings: [
      ...all.filter((problem) => !isError(problem)).map(formatManifestProblem),
      ...otherInstances(input),
      ...unusedServices(manifests, input.services),
      ...conflictWarnings(places),
      ...shared.warnings,
      ...warnings,
    ],
    ...(times.length > 0 && { nextChangeAt: Math.min(...times) }),
  };
}

/** Compiles those that have a place; the others stay as they were published, or are left out. */
function compileRoutes(
  mine: readonly RouteManifest[],
  { winners, kept }: Places,
  input: CompilationInput,
  destinations: DevDestinations,
) {
  const { entries: before } = input.rings;
  const entries = new Map<string, RouteEntry>();
  const problems: ManifestProblem[] = [];
  const warnings: string[] = [];
  const times: number[] = [];
  let seq = Math.max(0, ...[...before.values()].map((entry) => entry.seq));
  for (const manifest of mine) {
    const key = keyOf(manifest);
    const published = before.get(key);
    if (published !== undefined && kept.has(key)) entries.set(key, published);
    if (!winners.has(key)) continue;
    const result = compileOne(manifest, published, input, destinations);
    if (!result.ok) {
      problems.push(...result.problems.map((problem) => problemOf(manifest, problem)));
      continue;
    }
    warnings.push(...routeWarnings(manifest, result));
    if (result.rotation.nextChangeAt !== undefined) times.push(result.rotation.nextChangeAt);
    const entry = stamped(result.entry, published, { seq, now: input.now });
    seq = Math.max(seq, entry.seq);
    entries.set(key, entry);
  }
  return { entries, problems, warnings, times };
}

/** What was published when that says the same, else with a sequence number of its own. */
function stamped(
  entry: RouteEntry,
  published: RouteEntry | undefined,
  last: { readonly seq: number; readonly now: number },
): RouteEntry {
  return published !== undefined && sameEntry(entry, published) ? published : stamp(entry, last.seq, last.now);
}

function problemOf({ file, kind, namespace, name }: RouteManifest, problem: Problem): ManifestProblem {
  return { file, kind, namespace, name, problem };
}

function keyOf({ namespace, name }: ObjectRef): string {
  return `${namespace}/${name}`;
}

function compileOne(
  { route, namespace }: RouteManifest,
  published: RouteEntry | undefined,
  { manifests, rings, instance, services, now }: CompilationInput,
  destinations: DevDestinations,
): CompileResult {
  const command = revokeCommand(route.metadata.annotations);
  const base = published && isRevocationDue(command, published) ? withoutPreviousKeys(published) : published;
  const result = compile({
    route,
    namespace,
    namespaceUid: devUid(instance, "Namespace", "", namespace),
    secrets: manifests.secrets.get(namespace) ?? new Map(),
    ...(base && { published: base }),
    now,
    releaseKey: rings.releaseKey,
    serviceUrl: (service) => serviceUrl(service, services),
    destinations: knownIn(destinations, namespace),
  });
  return result.ok ? { ...result, entry: withRevocation(result.entry, command, published) } : result;
}

function otherInstances({ manifests, instance }: CompilationInput): string[] {
  return [...manifests.routes, ...manifests.destinations]
    .filter(({ spec }) => spec.instance !== instance)
    .map((manifest) => `${keyOf(manifest)}: is of instance ${manifest.spec.instance}, which this is not; left out`);
}

function conflictWarnings({ conflicts, kept }: Places): string[] {
  return conflicts.map(({ namespace, name, message }) => {
    const what = kept.has(`${namespace}/${name}`) ? "goes on at the place it had" : "is not served";
    return `${namespace}/${name} ${what}: HostPathConflict: ${message}`;
  });
}

function routeWarnings(
  manifest: RouteManifest,
  { entry, unresolved, rotation, destinations }: Extract<CompileResult, { readonly ok: true }>,
): string[] {
  const key = keyOf(manifest);
  return [
    ...handlerWarnings(entry),
    ...workerWarnings(manifest),
    ...unresolved.map(({ path, message }) => `${key}: ${path}: ${message}`),
    ...(rotation.tooManyChanges ? [`${key}: more than 5 keys; the oldest previous ones were dropped`] : []),
    ...(destinations.ok ? [] : [`${key}: ${destinations.reason}: ${destinations.message}`]),
  ];
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

/** A `--service` that nothing refers to is most likely misspelt. */
function unusedServices(manifests: Manifests, services: ServiceOverrides): string[] {
  const used = new Set(
    [
      ...manifests.routes.flatMap(({ namespace, spec }) => spec.destinations.map((one) => ({ ...one, namespace }))),
      ...manifests.destinations.map(({ namespace, spec }) => ({ ...spec, namespace })),
    ].map(({ namespace, serviceRef }) => `${namespace}/${serviceRef?.name ?? ""}`),
  );
  return [...services.keys()]
    .filter((name) => !used.has(name))
    .map((name) => `--service ${name}: nothing refers to it`);
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
