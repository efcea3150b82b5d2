import { gunzipSync, gzipSync } from "node:zlib";
import { MAX_WORKER_CONFIGS } from "../api/names.ts";
import { shortHash } from "../lib/hash.ts";
import type { DestinationEntry, RouteEntry } from "./entry.ts";

/** Newest schema of a worker's config that this version reads and the one it writes. */
const WORKER_CONFIG_SCHEMA = 1;

/** Key of a config Secret's `data`, and name of the file where n = 0 is mounted: gzip of the JSON of a {@link WorkerConfig}. */
export const WORKER_CONFIG_KEY = "config.json.gz";

/** One of a worker's config Secrets: the routes whose destinations it drains, without the keys of what comes in. */
export interface WorkerConfig {
  readonly schema: number;
  readonly minReader: number;
  /** Highest `seq` of the routes of all parts, so that a worker knows when it is up to date. */
  readonly seq: number;
  readonly instance: string;
  readonly namespace: string;
  /** Config Secrets in use, 1 or {@link MAX_WORKER_CONFIGS}: parts `0 … parts − 1` make the whole. */
  readonly parts: number;
  /** `keys` is empty; `destinations[].signing.keys` are there. */
  readonly routes: readonly RouteEntry[];
  /** WebhookDestinations, for shared workers. Absent: none. */
  readonly destinations?: readonly DestinationEntry[];
}

/** Most bytes of a part: etcd and the API server take a Secret of 1 MiB (kubernetes.io/docs, "Secrets"), names and labels included. */
export const MAX_PART_BYTES = 1_000_000;

/** A part that no Secret can hold. */
export class WorkerConfigTooLargeError extends Error {
  readonly code = "WorkerConfigTooLarge";
  constructor(bytes: number) {
    super(
      `a part of the worker's config has ${bytes} bytes, a Secret holds ${MAX_PART_BYTES}: give large routes workers of their own, or spread the WebhookDestinations over namespaces`,
    );
    this.name = "WorkerConfigTooLargeError";
  }
}

/** Bytes of JSON up to which one part holds all: far below the 1 MiB of a Secret even if nothing compresses. */
const ONE_PART_BYTES = 512 * 1_024;

/**
 * Config of a worker in parts, by part number: routes by their key, WebhookDestinations by the hash of their id. Pure; equal input gives equal bytes.
 *
 * @param destinations with a `seq` of their own
 */
export function workerConfigs(
  instance: string,
  namespace: string,
  routes: readonly RouteEntry[],
  destinations: readonly DestinationEntry[] = [],
): readonly WorkerConfig[] {
  const stripped = routes
    .map((entry): RouteEntry => ({ ...entry, keys: [] }))
    .toSorted((a, b) => (a.route < b.route ? -1 : 1));
  // Hashed once each: there may be 10,000.
  const shared = withLabelsFor(routes, destinations)
    .map((entry) => ({ entry, hash: shortHash(entry.id) }))
    .toSorted((a, b) => (a.entry.id < b.entry.id ? -1 : 1));
  const size = JSON.stringify(stripped).length + JSON.stringify(destinations).length;
  const parts = size <= ONE_PART_BYTES ? 1 : MAX_WORKER_CONFIGS;
  const seq = Math.max(0, ...routes.map((entry) => entry.seq), ...destinations.map((entry) => entry.seq ?? 0));
  const isIn = (hash: string, part: number) => Number.parseInt(hash.slice(0, 4), 16) % parts === part;
  return Array.from({ length: parts }, (_, part) => ({
    schema: WORKER_CONFIG_SCHEMA,
    minReader: 1,
    seq,
    instance,
    namespace,
    parts,
    routes: stripped.filter(({ route }) => isIn(route, part)),
    ...(shared.length > 0 && {
      destinations: shared.filter(({ hash }) => isIn(hash, part)).map(({ entry }) => entry),
    }),
  }));
}

/** With the labels that some route asks for and no others: they change for reasons of their own. */
function withLabelsFor(
  routes: readonly RouteEntry[],
  destinations: readonly DestinationEntry[],
): readonly DestinationEntry[] {
  const keys = [...new Set(routes.flatMap(({ destinationLabels = {} }) => Object.keys(destinationLabels)))].toSorted();
  return destinations.map(({ labels, ...entry }) => {
    if (labels === undefined || keys.length === 0) return entry;
    const asked = keys.filter((key) => Object.hasOwn(labels, key)).map((key) => [key, labels[key]] as const);
    return { ...entry, labels: Object.fromEntries(asked) as Readonly<Record<string, string>> };
  });
}

/**
 * Bytes for a Secret. Deterministic: gzip carries no time here.
 *
 * @throws WorkerConfigTooLargeError
 */
export function encodeWorkerConfig(config: WorkerConfig): Buffer {
  const bytes = gzipSync(JSON.stringify(config));
  if (bytes.length > MAX_PART_BYTES) throw new WorkerConfigTooLargeError(bytes.length);
  return bytes;
}

/** Largest config that is unpacked, bytes of JSON. */
const MAX_UNPACKED = 64 * 1_048_576;

export type WorkerConfigReading =
  | { readonly ok: true; readonly config: WorkerConfig }
  | { readonly ok: false; readonly code: "Malformed" | "TooNew"; readonly message: string };

/** Reads a config Secret. Never throws: the last good config goes on. */
export function decodeWorkerConfig(bytes: Buffer): WorkerConfigReading {
  let value: Partial<WorkerConfig> | null;
  try {
    value = JSON.parse(
      gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED }).toString("utf8"),
    ) as Partial<WorkerConfig> | null;
  } catch {
    return {
      ok: false,
      code: "Malformed",
      message: "the worker's config is no gzip of JSON: the controller writes it again",
    };
  }
  if (!isWorkerConfig(value)) {
    return {
      ok: false,
      code: "Malformed",
      message: "the worker's config lacks minReader, parts or routes: the controller writes it again",
    };
  }
  if (value.minReader > WORKER_CONFIG_SCHEMA) {
    return {
      ok: false,
      code: "TooNew",
      message: `the worker's config needs a reader of schema ${value.minReader}, this is ${WORKER_CONFIG_SCHEMA}: upgrade the workers`,
    };
  }
  return { ok: true, config: value };
}

/** Entries are looked at one by one where they are used: one that is broken must not hold up the others. */
function isWorkerConfig(value: Partial<WorkerConfig> | null): value is WorkerConfig {
  if (typeof value?.minReader !== "number" || !Array.isArray(value.routes)) return false;
  if (value.destinations !== undefined && !Array.isArray(value.destinations)) return false;
  return Number.isInteger(value.parts) && Number(value.parts) >= 1 && Number(value.parts) <= MAX_WORKER_CONFIGS;
}

/** The routes of all parts there are: of a route in two parts (while their number changes) the one with the higher `seq`. */
export function mergeWorkerConfigs(parts: Iterable<WorkerConfig>): RouteEntry[] {
  const routes = new Map<string, RouteEntry>();
  for (const { routes: some } of parts) {
    for (const entry of some) if ((routes.get(entry.route)?.seq ?? -1) < entry.seq) routes.set(entry.route, entry);
  }
  return [...routes.values()];
}

/** The WebhookDestinations of all parts there are, of one in two parts the one with the higher `seq`. */
export function mergeDestinations(parts: Iterable<WorkerConfig>): DestinationEntry[] {
  const merged = new Map<string, DestinationEntry>();
  for (const { destinations = [] } of parts) {
    for (const entry of destinations) {
      if ((merged.get(entry.id)?.seq ?? -1) < (entry.seq ?? 0)) merged.set(entry.id, entry);
    }
  }
  return [...merged.values()];
}
