import type { CleanupPolicySpec } from "../../../api/generated/cleanup-policy.ts";
import type { Config } from "../../../config/schema.ts";
import type { DesiredObject } from "../../webhook-route/children/desired-object.ts";
import { CLEANER, cleanerChild, type CleanerPlace } from "./cleaner-place.ts";

/** What cleaners take from the release's config. A whole {@link Config} will do. */
export type CleanerRelease = Pick<Config, "release" | "instance" | "namespace" | "logLevel" | "cleaners"> & {
  readonly workers: Pick<Config["workers"], "imagePullPolicy" | "imagePullSecrets">;
};

/** Where Secrets are mounted in a cleaner Pod. */
const CREDENTIALS_DIR = "/etc/davit/credentials";
const CA_DIR = "/etc/davit/ca";
const CA_FILE = "ca.crt";
/** Keys of a credentials Secret, and files of them. */
export const CREDENTIALS_KEYS = ["accessKeyId", "secretAccessKey", "sessionToken"] as const;
/**
 * A run makes much that is short-lived, which Node by itself lets grow before it collects: `npm run bench -- cleanup` measures about half the memory with these.
 * The old space has room for the keys of manifests.
 */
export const CLEANER_NODE_OPTIONS = "--max-semi-space-size=4 --max-old-space-size=256";
/** Port of probes and metrics in a cleaner Pod. */
const ADMIN_PORT = 9090;
/** Time for the batch under way to end. */
const GRACE_SECONDS = 75;

/**
 * The Deployment of a cleaner, within the `restricted` Pod Security Standard (kubernetes.io/docs, "Pod Security Standards") and with a read-only root. Never two Pods
 * at a time by a rollout: leases of runs would keep them apart, and the new one would only wait.
 */
export function cleanerDeployment(
  place: CleanerPlace,
  release: CleanerRelease,
  spec: CleanupPolicySpec,
  replicas: 0 | 1,
): DesiredObject {
  const { credentialsSecretRef, caSecretRef } = spec.s3;
  return cleanerChild(place, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    spec: {
      replicas,
      revisionHistoryLimit: 3,
      selector: { matchLabels: place.selector },
      strategy: { type: "Recreate" },
      template: {
        metadata: { labels: place.labels },
        spec: {
          serviceAccountName: spec.cleaner?.serviceAccountName ?? place.name,
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE_SECONDS,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          imagePullSecrets: release.workers.imagePullSecrets.map((name) => ({ name })),
          containers: [container(place, release, spec)],
          volumes: [
            ...(credentialsSecretRef === undefined ? [] : [secretVolume("credentials", credentialsSecretRef.name)]),
            ...(caSecretRef === undefined ? [] : [secretVolume("ca", caSecretRef.name, caSecretRef.key)]),
            { name: "tmp", emptyDir: {} },
          ],
        },
      },
    },
  });
}

/** Those keys of a Secret that are needed, and no others. A session token may be missing; what else is keeps the cleaner from being started. */
function secretVolume(name: string, secretName: string, caKey?: string): Readonly<Record<string, unknown>> {
  const items =
    caKey === undefined ? CREDENTIALS_KEYS.map((key) => ({ key, path: key })) : [{ key: caKey, path: CA_FILE }];
  return { name, secret: { secretName, items, optional: true } };
}

function container(
  { namespace, policy }: CleanerPlace,
  { release, instance, namespace: releaseNamespace, logLevel, cleaners, workers }: CleanerRelease,
  { s3 }: CleanupPolicySpec,
): Readonly<Record<string, unknown>> {
  const hasCredentials = s3.credentialsSecretRef !== undefined;
  const hasCa = s3.caSecretRef !== undefined;
  const env: Readonly<Record<string, string | undefined>> = {
    NODE_OPTIONS: CLEANER_NODE_OPTIONS,
    DAVIT_RELEASE: release,
    DAVIT_INSTANCE: instance,
    DAVIT_NAMESPACE: releaseNamespace,
    DAVIT_LOG_LEVEL: logLevel,
    DAVIT_CLEANER_NAMESPACE: namespace,
    DAVIT_CLEANER_POLICY: policy,
    DAVIT_CLEANER_ADMIN_PORT: String(ADMIN_PORT),
    DAVIT_CLEANER_CREDENTIALS_DIRECTORY: hasCredentials ? CREDENTIALS_DIR : undefined,
    DAVIT_CLEANER_CA_FILE: hasCa ? `${CA_DIR}/${CA_FILE}` : undefined,
  };
  return {
    name: CLEANER,
    image: cleaners.image,
    imagePullPolicy: workers.imagePullPolicy,
    args: ["cleaner"],
    env: Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }])),
    ports: [{ name: "admin", containerPort: ADMIN_PORT, protocol: "TCP" }],
    ...PROBES,
    resources: cleaners.resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      ...(hasCredentials ? [{ name: "credentials", mountPath: CREDENTIALS_DIR, readOnly: true }] : []),
      ...(hasCa ? [{ name: "ca", mountPath: CA_DIR, readOnly: true }] : []),
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}

/** Liveness never asks the store or the API server: a restart would not bring them back. Nobody sends requests to cleaners, so no `preStop`. */
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
