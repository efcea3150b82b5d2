import { stringify } from "yaml";
import { type WorkerScope, workerConfigName } from "../../../api/names.ts";
import type { DestinationEntry, RouteEntry } from "../../../routes/entry.ts";
import { encodeWorkerConfig, WORKER_CONFIG_KEY, workerConfigs } from "../../../routes/worker-config.ts";
import type { DesiredObject } from "../children/desired-object.ts";
import { type WorkerPlace, type WorkerRelease, workerChild } from "./worker-place.ts";

/** Where config Secret 0 is mounted in a worker Pod. */
export const WORKER_CONFIG_DIR = "/etc/davit/worker";
/** Key of config Secret 0, and file in {@link WORKER_CONFIG_DIR}, that holds the worker's config file. */
export const WORKER_CONFIG_FILE = "davit.yaml";
/** Where the Secret with the Redis URL is mounted, and its one key. */
export const REDIS_DIR = "/etc/davit/redis";
export const REDIS_KEY = "url";
/** Port of probes and metrics in a worker Pod. */
export const WORKER_ADMIN_PORT = 9090;

/** What workers deliver, with keys. */
export interface WorkerTold {
  readonly routes: readonly RouteEntry[];
  /** WebhookDestinations, for a namespace's shared workers. */
  readonly destinations?: readonly DestinationEntry[];
}

/** The config file of the worker's role, YAML as `src/config/schema.ts` has it. */
export function workerConfigFile(
  scope: WorkerScope,
  place: WorkerPlace,
  { release, instance, namespace, logLevel, redis, workers }: WorkerRelease,
  concurrency: number,
): string {
  const { users, durability, replicas } = redis;
  return stringify({
    release,
    instance,
    namespace,
    logLevel,
    redis: { urlFile: `${REDIS_DIR}/${REDIS_KEY}`, users, durability, replicas },
    worker: {
      adminPort: WORKER_ADMIN_PORT,
      configDir: WORKER_CONFIG_DIR,
      configName: place.name,
      namespace: scope.namespace,
      concurrency,
      egress: workers.egress,
    },
  });
}

/**
 * The config Secrets, the first one last: it says how many there are, so the others must be there by then.
 *
 * @param told what the workers are told, with keys
 * @param file of {@link workerConfigFile}, kept in Secret 0
 */
export function workerConfigSecrets(
  scope: WorkerScope,
  place: WorkerPlace,
  { routes, destinations = [] }: WorkerTold,
  file: string,
): readonly DesiredObject[] {
  return workerConfigs(place.instance, scope.namespace, routes, destinations)
    .map((config, n) =>
      workerChild(place, {
        apiVersion: "v1",
        kind: "Secret",
        name: workerConfigName(place.name, n),
        component: "worker-config",
        type: "Opaque",
        data: {
          [WORKER_CONFIG_KEY]: encodeWorkerConfig(config).toString("base64"),
          ...(n === 0 && { [WORKER_CONFIG_FILE]: Buffer.from(file).toString("base64") }),
        },
      }),
    )
    .toReversed();
}
