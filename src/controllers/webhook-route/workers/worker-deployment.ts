import {
  CONFIG_HASH_ANNOTATION,
  REPLICAS_ANNOTATION,
  provisionedRedisSecretName,
  WORKER_ENV,
  workerConfigName,
} from "../../../api/names.ts";
import { shortHash } from "../../../lib/hash.ts";
import type { DesiredObject } from "../children/desired-object.ts";
import type { ReplicaPlan } from "./replica-plan.ts";
import {
  REDIS_DIR,
  REDIS_KEY,
  WORKER_ADMIN_PORT,
  WORKER_CONFIG_DIR,
  WORKER_CONFIG_FILE,
} from "./worker-config-secrets.ts";
import { type WorkerPlace, type WorkerRelease, workerChild } from "./worker-place.ts";
import type { Dedicated, WorkerSizing } from "./worker-sizing.ts";

export interface DeploymentInput {
  readonly release: WorkerRelease;
  readonly dedicated?: Dedicated | undefined;
  readonly sizing: WorkerSizing;
  readonly replicas: ReplicaPlan;
  /** Secrets that variables must not come from. */
  readonly deniedSecrets: ReadonlySet<string>;
  /** Text of the config file. */
  readonly file: string;
}

/** Time for attempts under way to end: their timeouts are at most 60 s. */
const GRACE_SECONDS = 75;

/**
 * The Deployment of workers, within the `restricted` Pod Security Standard (kubernetes.io/docs, "Pod Security Standards") and with a read-only
 * root. The config Secrets are watched; their mount is for the start. A change of the config file starts new Pods.
 */
export function workerDeployment(place: WorkerPlace, input: DeploymentInput): DesiredObject {
  const { replicas, file, dedicated, release } = input;
  const scheduling = dedicated?.scheduling;
  return workerChild(place, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    annotations: { [REPLICAS_ANNOTATION]: replicas.owner },
    spec: {
      replicas: replicas.replicas,
      revisionHistoryLimit: 3,
      selector: { matchLabels: place.selector },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" } },
      template: {
        metadata: {
          labels: place.labels,
          annotations: { ...place.annotations, [CONFIG_HASH_ANNOTATION]: shortHash(file) },
        },
        spec: {
          serviceAccountName: place.name,
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE_SECONDS,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          imagePullSecrets: release.workers.imagePullSecrets.map((name) => ({ name })),
          nodeSelector: scheduling?.nodeSelector,
          tolerations: scheduling?.tolerations,
          topologySpreadConstraints: scheduling?.topologySpreadConstraints?.map((constraint) => ({
            ...constraint,
            labelSelector: { matchLabels: place.selector },
          })),
          priorityClassName: scheduling?.priorityClassName,
          containers: [workerContainer(input)],
          volumes: [
            { name: "config", secret: { secretName: workerConfigName(place.name, 0) } },
            {
              name: "redis",
              secret: { secretName: redisSecretName(release), items: [{ key: REDIS_KEY, path: REDIS_KEY }] },
            },
            { name: "tmp", emptyDir: {} },
          ],
        },
      },
    },
  });
}

/** The Secret with the Redis URL, in the namespace of the Pods. */
function redisSecretName({ instance, redis }: WorkerRelease): string {
  return redis.users === "Provisioned" ? provisionedRedisSecretName(instance) : redis.providedSecretName;
}

function workerContainer(input: DeploymentInput): Readonly<Record<string, unknown>> {
  const { sizing } = input;
  return {
    name: "worker",
    ...program(input),
    env: [
      { name: "DAVIT_CONFIG", value: `${WORKER_CONFIG_DIR}/${WORKER_CONFIG_FILE}` },
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      ...routeEnv(input),
    ],
    ports: [{ name: "admin", containerPort: WORKER_ADMIN_PORT, protocol: "TCP" }],
    ...PROBES,
    resources: sizing.resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      { name: "config", mountPath: WORKER_CONFIG_DIR, readOnly: true },
      { name: "redis", mountPath: REDIS_DIR, readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}

/** A handler's image runs its own command, which calls createWorker; its pull policy is the API server's default for its tag. */
function program({ release, dedicated }: DeploymentInput): Readonly<Record<string, unknown>> {
  const { image, imagePullPolicy } = release.workers;
  if (dedicated?.image !== undefined && mayBringOwn(release)) return { image: dedicated.image };
  return { image, imagePullPolicy, args: ["worker"] };
}

/** Stands for a Secret that may not be used: with no such Secret new Pods do not start, and those before them go on. */
const NO_SECRET = "davit.not-permitted";

function routeEnv({ release, dedicated, deniedSecrets }: DeploymentInput): readonly unknown[] {
  if (!mayBringOwn(release)) return [];
  return (dedicated?.env ?? [])
    .filter(({ name }) => !WORKER_ENV.some((own) => own === name))
    .map((variable) => {
      const secret = variable.valueFrom?.secretKeyRef;
      if (secret === undefined || !deniedSecrets.has(secret.name)) return variable;
      return { name: variable.name, valueFrom: { secretKeyRef: { name: NO_SECRET, key: secret.key } } };
    });
}

/** The last line behind `workerRefusal`: nothing of a route's own runs beside the credential of all namespaces. */
function mayBringOwn({ redis }: WorkerRelease): boolean {
  return redis.users !== "Shared";
}

/**
 * Liveness never asks Redis: a restart would not bring it back. A start may take a minute; readiness then decides whether a Pod counts as
 * available. Nobody sends requests to workers, so no `preStop`.
 */
const PROBES = {
  startupProbe: {
    httpGet: { path: "/livez", port: "admin" },
    periodSeconds: 2,
    timeoutSeconds: 2,
    failureThreshold: 30,
  },
  livenessProbe: {
    httpGet: { path: "/livez", port: "admin" },
    periodSeconds: 10,
    timeoutSeconds: 5,
    failureThreshold: 6,
  },
  readinessProbe: {
    httpGet: { path: "/readyz", port: "admin" },
    periodSeconds: 5,
    timeoutSeconds: 2,
    failureThreshold: 3,
  },
};
