import { z } from "zod";

/** A whole number of bytes, replicas, ports … within bounds. */
const whole = (min: number, max: number) => z.number().int().min(min).max(max);
const port = () => whole(0, 65_535);
/** A Kubernetes name that is one DNS label (RFC 1123). */
const label = () =>
  z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "write a DNS label: lower-case letters, digits and '-'");
const milliseconds = () => whole(0, 3_600_000);
const labels = () => z.record(z.string(), z.string());

const resources = z.strictObject({
  requests: labels().optional(),
  limits: labels().optional(),
});

const redis = z.strictObject({
  /** File with the Redis URL (`redis://` or `rediss://`, credentials allowed). Never in this file itself. */
  urlFile: z.string().min(1),
  /** Design §3, "Redis users". */
  users: z.enum(["Shared", "Provided", "Provisioned"]).default("Provided"),
  /** `Provided`: name of the Secret (key `url`) that each namespace with workers must have. */
  providedSecretName: label().default("davit-redis"),
  /** `assert`: the operator of Redis vouches for its durability where Davit cannot look. */
  durability: z.enum(["verify", "assert"]).default("verify"),
  /** Replicas that must confirm a claim. */
  replicas: whole(0, 16).default(0),
});

const kubernetes = z.strictObject({
  /** Default: the in-cluster one, from `KUBERNETES_SERVICE_HOST` and the Pod's service account files. */
  server: z.url().optional(),
  tokenFile: z.string().optional(),
  caFile: z.string().optional(),
  /** Controller only: a kubeconfig instead. */
  kubeconfig: z.string().optional(),
  context: z.string().optional(),
});

/** Who may use a host, and how it is exposed. Hosts belong to the release, see design §3. */
const host = z.strictObject({
  host: z.string().min(1).max(253),
  /** Label selector over namespaces; absent: every namespace. */
  namespaces: z.strictObject({ matchLabels: labels() }).optional(),
  pathPrefix: z.string().startsWith("/").default("/"),
  via: z.enum(["Ingress", "HTTPRoute", "None"]).default("Ingress"),
  className: z.string().optional(),
  annotations: labels().default({}),
  tlsSecretName: z.string().optional(),
  /** `via: None` or a load balancer in front ends TLS. */
  allowHTTP: z.boolean().default(false),
  /** `HTTPRoute`: Gateways, in any namespace. */
  parentRefs: z
    .array(z.strictObject({ name: z.string(), namespace: z.string().optional(), sectionName: z.string().optional() }))
    .default([]),
  paths: z.enum(["Prefix", "Exact"]).default("Prefix"),
});

const gateway = z.strictObject({
  /** Public listener. */
  port: port().default(8080),
  /** Address of both listeners. */
  address: z.string().default("0.0.0.0"),
  adminPort: port().default(9090),
  /** Directory in a memory volume: the table is kept there, 0600, for a restart while the API is away. */
  cacheDir: z.string().optional(),
  /** Name and UID of this Pod, from the downward API; owner of its serving Lease. */
  podName: z.string().optional(),
  podUid: z.string().optional(),
  /** Not ready, but still serving, ms, before the listener closes: load balancers need that long to notice. */
  shutdownDelayMs: milliseconds().default(5_000),
  shutdownGraceMs: milliseconds().default(15_000),
  trustedProxies: z.array(z.string()).default([]),
  /** Service of the gateways, target of Ingress and HTTPRoute backends. */
  service: z.strictObject({ name: label(), port: port() }).default({ name: "davit-gateway", port: 80 }),
  hosts: z.array(host).max(1_000).default([]),
});

const workers = z.strictObject({
  /** Image of shared and dedicated workers without an image of their own. */
  image: z.string().default("davit:dev"),
  imagePullPolicy: z.enum(["Always", "IfNotPresent", "Never"]).default("IfNotPresent"),
  imagePullSecrets: z.array(z.string()).max(8).default([]),
  defaults: z
    .strictObject({
      replicas: whole(0, 1_000).default(1),
      concurrency: whole(1, 10_000).default(500),
      resources: resources.optional(),
    })
    .default({ replicas: 1, concurrency: 500 }),
  /** Sizes that differ in a namespace. */
  namespaces: z
    .record(
      z.string(),
      z.strictObject({
        replicas: whole(0, 1_000).optional(),
        concurrency: whole(1, 10_000).optional(),
        resources: resources.optional(),
      }),
    )
    .default({}),
});

const controller = z.strictObject({
  adminPort: port().default(9090),
  address: z.string().default("0.0.0.0"),
  /** Identity in the leader Lease; default: host name and a random part. */
  identity: z.string().optional(),
  concurrency: whole(1, 64).default(8),
  /** How long a released host and path stays with its namespace. */
  claimHoldMs: whole(0, 30 * 86_400_000).default(86_400_000),
});

/** What runs in a worker Pod beside its route config. */
const worker = z.strictObject({
  adminPort: port().default(9090),
  address: z.string().default("0.0.0.0"),
  /** Directory where config Secret n = 0 is mounted, see `workerConfigFile`. */
  configDir: z.string().optional(),
  /** Names of the config Secrets start with this; see `workerConfigName`. */
  configName: z.string().optional(),
  /** Namespace whose events this worker drains; differs from its Pod's namespace with `Shared` Redis users. */
  namespace: z.string().optional(),
  concurrency: whole(1, 10_000).default(500),
});

/** The config file of every role: one YAML, a section per role. Unknown keys are refused. */
export const configSchema = z.strictObject({
  /** Helm release: prefix of what belongs to the release as a whole. */
  release: label().default("davit"),
  /** Objects with another `spec.instance` are none of this release's business. */
  instance: label().default("default"),
  /** The release's namespace. */
  namespace: label().default("davit-system"),
  logLevel: z.enum(["debug", "info", "warn", "error"]).default("info"),
  redis,
  kubernetes: kubernetes.prefault({}),
  rbac: z
    .strictObject({ scope: z.enum(["Cluster", "Namespaces"]), namespaces: z.array(label()).max(1_000).default([]) })
    .default({ scope: "Cluster", namespaces: [] }),
  controller: controller.prefault({}),
  gateway: gateway.prefault({}),
  workers: workers.prefault({}),
  worker: worker.prefault({}),
});

/** A checked config, defaults filled in. */
export type Config = z.infer<typeof configSchema>;
export type HostConfig = Config["gateway"]["hosts"][number];
export type WorkersConfig = Config["workers"];
