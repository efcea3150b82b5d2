import type { DestinationManifest, ManifestProblem } from "../../api/manifests.ts";
import {
  compileDestination,
  type CompileDestinationInput,
  type CompileDestinationResult,
  sameDestination,
} from "../../routes/compile-destination.ts";
import { decideIds, idConflictText } from "../../routes/destination-ids.ts";
import { destinationId } from "../../api/names.ts";
import type { DestinationEntry } from "../../routes/entry.ts";
import { readAccessToken } from "../../routes/access-token.ts";
import type { Secrets } from "../../routes/observed-keys.ts";
import type { KnownDestination } from "../../routes/shared-copies.ts";

/** A WebhookDestination as it was compiled last, with its keys. Plain JSON: it is kept in `rings.json`. */
export interface DevDestination {
  readonly namespace: string;
  /** `spec.id`, else its name. */
  readonly id: string;
  /** Unix ms at which it was first seen, for as long as a manifest has it. */
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Its `concurrency`, where it writes one. */
  readonly limit?: number;
  /** SHA-256 of the tokens of `access.tokenSecretRef`, hex. */
  readonly tokenHashes: readonly string[];
  /** What workers go by. Its `name` is `metadata.name`; its `seq` grows with every change and with nothing else. */
  readonly entry: DestinationEntry;
}

/** WebhookDestinations by `namespace/name`. */
export type DevDestinations = ReadonlyMap<string, DevDestination>;

export interface DestinationsInput {
  /** Those of this instance. */
  readonly manifests: readonly DestinationManifest[];
  /** Secrets by namespace, then name. */
  readonly secrets: ReadonlyMap<string, Secrets>;
  /** As compiled last. */
  readonly before: DevDestinations;
  readonly releaseKey: Buffer;
  readonly serviceUrl: NonNullable<CompileDestinationInput["serviceUrl"]>;
  /** Unix ms. */
  readonly now: number;
}

/** What {@link compileDestinations} found. */
export interface CompiledDestinations {
  readonly destinations: DevDestinations;
  readonly problems: readonly ManifestProblem[];
  readonly warnings: readonly string[];
  /** Unix ms at which key rings must be looked at again. */
  readonly times: readonly number[];
}

/**
 * Compiles WebhookDestinations as the controller would, with those compiled last as the state of ids, stamps and signing rings: whoever had an id keeps it, and
 * one that says the same is the same. Pure.
 */
export function compileDestinations(input: DestinationsInput): CompiledDestinations {
  const holders = decideHolders(input);
  const destinations = new Map<string, DevDestination>();
  const problems: ManifestProblem[] = [];
  const warnings = [...holders.warnings];
  const times: number[] = [];
  let seq = Math.max(0, ...[...input.before.values()].map(({ entry }) => entry.seq ?? 0));
  for (const manifest of input.manifests) {
    const key = keyOf(manifest);
    if (!holders.names.has(key)) continue;
    const result = compileOne(manifest, input);
    if (!result.ok) {
      const { file, kind, namespace, name } = manifest;
      problems.push(...result.problems.map((problem) => ({ file, kind, namespace, name, problem })));
      continue;
    }
    if (result.rotation.nextChangeAt !== undefined) times.push(result.rotation.nextChangeAt);
    const tokens = accessTokens(manifest, input);
    warnings.push(...destinationWarnings(key, result, tokens.problem), ...otherId(manifest, input));
    const made = stamped(described(manifest, result.entry, { ...input, hashes: tokens.hashes }), input, seq);
    seq = Math.max(seq, made.entry.seq ?? 0);
    destinations.set(key, made);
  }
  return { destinations, problems, warnings, times };
}

/** Those of a namespace, for the compilation of its routes. */
export function knownIn(destinations: DevDestinations, namespace: string): readonly KnownDestination[] {
  return [...destinations.values()]
    .filter((one) => one.namespace === namespace)
    .map(({ entry: { name, id }, labels, limit }) => ({ name, id, labels, ...(limit !== undefined && { limit }) }));
}

/** Who has its id, by `namespace/name`. */
function decideHolders({ manifests, before, now }: DestinationsInput) {
  const names = new Set<string>();
  const warnings: string[] = [];
  for (const namespace of new Set(manifests.map((manifest) => manifest.namespace))) {
    const incumbents = new Map(
      [...before.values()].filter((one) => one.namespace === namespace).map(({ entry }) => [entry.id, entry.name]),
    );
    const claimants = manifests
      .filter((manifest) => manifest.namespace === namespace)
      .map(({ name, spec }) => ({
        name,
        id: spec.id,
        createdAt: before.get(`${namespace}/${name}`)?.createdAt ?? now,
      }));
    const { holders, conflicts } = decideIds(claimants, incumbents);
    for (const name of holders.values()) names.add(`${namespace}/${name}`);
    for (const conflict of conflicts) {
      const text = idConflictText(conflict);
      warnings.push(`${namespace}/${conflict.claimant.name} gets no events: IdConflict: ${text}`);
    }
  }
  return { names, warnings };
}

function compileOne(manifest: DestinationManifest, input: DestinationsInput): CompileDestinationResult {
  const { namespace, destination, spec } = manifest;
  const published = input.before.get(keyOf(manifest))?.entry;
  return compileDestination({
    destination,
    validation: { problems: [], destination, spec },
    namespace,
    secrets: secretsOf(manifest, input),
    ...(published && { published }),
    now: input.now,
    releaseKey: input.releaseKey,
    serviceUrl: input.serviceUrl,
  });
}

function described(
  manifest: DestinationManifest,
  entry: DestinationEntry,
  { before, now, hashes }: DestinationsInput & { readonly hashes: readonly string[] },
): DevDestination {
  const { namespace, spec, destination } = manifest;
  return {
    namespace,
    id: spec.id,
    createdAt: before.get(keyOf(manifest))?.createdAt ?? now,
    labels: destination.metadata.labels ?? {},
    ...(spec.concurrency !== undefined && { limit: spec.concurrency }),
    tokenHashes: hashes,
    entry,
  };
}

/** With the stamp it had when it says the same, else with one of its own: the gate in custody goes by the newest. */
function stamped(made: DevDestination, { before, now }: DestinationsInput, lastSeq: number): DevDestination {
  const last = before.get(`${made.namespace}/${made.entry.name}`);
  const isSame = last !== undefined && sameDestination(last.entry, made.entry);
  const seq = isSame ? (last.entry.seq ?? 0) : Math.max(lastSeq + 1, now);
  return { ...made, entry: { ...made.entry, seq } };
}

function destinationWarnings(
  key: string,
  { entry, unresolved }: Extract<CompileDestinationResult, { readonly ok: true }>,
  tokenProblem: string | undefined,
): string[] {
  const isWaiting = (entry.incomplete ?? []).length > 0;
  return [
    ...unresolved.map(({ path, message }) => `${key}: ${path}: ${message}`),
    ...(isWaiting ? [`${key}: nothing is sent to it until these have a value`] : []),
    ...(tokenProblem === undefined ? [] : [`${key}: spec.access.tokenSecretRef: ${tokenProblem}`]),
  ];
}

/** An API server refuses the change of an id; here its events would look for the old one. */
function otherId(manifest: DestinationManifest, { before }: DestinationsInput): string[] {
  const last = before.get(keyOf(manifest))?.id;
  if (last === undefined || destinationId(last) === destinationId(manifest.spec.id)) return [];
  return [
    `${keyOf(manifest)}: its id was ${JSON.stringify(last)}, and a cluster refuses to change it: events on the way to that id have no destination any more`,
  ];
}

function accessTokens(manifest: DestinationManifest, input: DestinationsInput) {
  const ref = manifest.spec.access?.tokenSecretRef;
  if (ref === undefined) return { hashes: [] };
  const found = readAccessToken(ref, secretsOf(manifest, input), "spec.access.tokenSecretRef");
  return "hash" in found ? { hashes: [found.hash] } : { hashes: [], problem: found.message };
}

function secretsOf({ namespace }: DestinationManifest, { secrets }: DestinationsInput): Secrets {
  return secrets.get(namespace) ?? new Map();
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
