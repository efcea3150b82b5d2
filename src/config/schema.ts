import { z } from "zod";
import { isRecord } from "../lib/record.ts";
import { addressRange, filePath, label, mailAddress, port, rangeOrHost, whole } from "./values.ts";

const labels = () => z.record(z.string(), z.string());

const resources = () =>
  z
    .strictObject({ requests: labels().optional(), limits: labels().optional() })
    .describe("Requests and limits of a worker container, as in a Pod.");

const redis = z.strictObject({
  urlFile: filePath().describe("File with the Redis URL (`redis://` or `rediss://`, credentials allowed)."),
  users: z
    .enum(["Shared", "Provided", "Provisioned"])
    .default("Provided")
    .describe(
      "Whose credentials workers use. `Shared`: those of this release, so workers run in its namespace and handler images are refused. `Provided`: a Secret in each namespace with workers. `Provisioned`: the controller makes an ACL user for each namespace.",
    ),
  providedSecretName: label()
    .default("davit-redis")
    .describe(
      "Name of the Secret (key `url`) with the Redis URL of workers. `Provided`: each namespace with workers must have it. `Shared`: the release's namespace must.",
    ),
  gatewaySecretName: label()
    .optional()
    .describe(
      "`Provisioned`: Secret of the release's namespace in which the controller keeps the gateways' Redis URL (key `url`). Default: gateways have a user that somebody else makes.",
    ),
  consoleSecretName: label()
    .optional()
    .describe(
      "`Provisioned`: the same for the console's Redis URL. Default: it has a user that somebody else makes, or there is no console.",
    ),
  durability: z
    .enum(["verify", "assert"])
    .default("verify")
    .describe(
      "`verify`: refuse events while Redis does not write each to disk at once. `assert`: its operator vouches for that where Davit cannot look.",
    ),
  replicas: whole(0, 16).default(0).describe("Replicas of Redis that must confirm an event before it is accepted."),
});

const kubernetes = z.strictObject({
  server: z
    .url("is no URL: write it like https://HOST:6443")
    .optional()
    .describe(
      "URL of the API server. Default: the one of the cluster that the process runs in, with its service account.",
    ),
  tokenFile: filePath().optional().describe("Bearer token for `server`, read again when it changes."),
  caFile: filePath().optional().describe("CA certificates for `server`, PEM."),
  kubeconfig: filePath().optional().describe("Controller only: a kubeconfig file instead of the above."),
  context: z.string().optional().describe("Context of `kubeconfig`. Default: its current one."),
});

/** A check over a section that also runs while something else in it is wrong, so that all problems are told at once. */
const always = { when: ({ value }: { value: unknown }) => isRecord(value) };

const parentRef = z.strictObject({
  name: z.string().describe("Name of the Gateway."),
  namespace: z.string().optional().describe("Its namespace. Default: the route's."),
  sectionName: z.string().optional().describe("One listener of it. Default: all."),
});

/** Who may use a host, and how it is exposed. Hosts belong to the release, see design §3. */
const host = z
  .strictObject({
    host: z.string().min(1).max(253).describe("Host name, lower case."),
    namespaces: z
      .strictObject({ matchLabels: labels().describe("Labels that the namespace must have.") })
      .optional()
      .describe("Namespaces whose routes may use the host. Default: every namespace."),
    pathPrefix: z.string().regex(/^\//, "must start with /").default("/").describe("Paths that those routes may use."),
    via: z
      .enum(["Ingress", "HTTPRoute", "None"])
      .default("Ingress")
      .describe("Object that exposes the host. `None`: it is exposed by other means."),
    className: z.string().optional().describe("`Ingress`: its class."),
    annotations: labels().default({}).describe("Annotations of the Ingress or HTTPRoute."),
    tlsSecretName: z
      .string()
      .optional()
      .describe("`Ingress`: Secret with the certificate, in the release's namespace."),
    allowHTTP: z
      .boolean()
      .default(false)
      .describe("Accept the host without TLS, for example because a load balancer ends it."),
    parentRefs: z.array(parentRef).default([]).describe("`HTTPRoute`: the Gateways it attaches to."),
    paths: z
      .enum(["Prefix", "Exact"])
      .default("Prefix")
      .describe("What the exposing object lets through: everything under `pathPrefix`, or each route's path alone."),
  })
  .refine(({ via, parentRefs }) => via !== "HTTPRoute" || (parentRefs?.length ?? 0) > 0, {
    ...always,
    path: ["parentRefs"],
    error: "is empty, but an HTTPRoute needs a Gateway: name at least one",
  });

const gateway = z.strictObject({
  port: port().default(8080).describe("Port of the public listener."),
  address: z.string().default("0.0.0.0").describe("Address of all listeners."),
  adminPort: port().default(9090).describe("Port of /metrics, /livez and /readyz."),
  api: z
    .strictObject({
      port: port()
        .optional()
        .describe(
          "Port of the API listener, where programs inside the cluster publish events; never expose it. Default: there is none.",
        ),
      audience: z
        .string()
        .min(1)
        .max(253)
        .default("davit")
        .describe("Audience that the service account tokens of its callers must be made for."),
    })
    .prefault({}),
  cacheDir: z
    .string()
    .optional()
    .describe("Directory in memory. The table of routes is kept there for a restart while the API server is away."),
  podName: z.string().optional().describe("Name of this Pod, which owns the serving Lease."),
  podUid: z.string().optional().describe("UID of this Pod."),
  shutdownDelayMs: whole(0, 3_600_000)
    .default(5_000)
    .describe(
      "Time, not ready but still serving, before the listener closes: load balancers need that long to notice.",
    ),
  shutdownGraceMs: whole(0, 3_600_000).default(15_000).describe("Time for requests in flight to end after that."),
  trustedProxies: z
    .array(addressRange())
    .default([])
    .describe("Address ranges whose `X-Forwarded-For` is believed, for example `10.0.0.0/8`."),
  egress: z
    .strictObject({
      allow: z
        .array(addressRange())
        .default([])
        .describe(
          "Address ranges that are not public, and that gateways may nevertheless ask for public keys of providers: of a proxy in front of a provider, say.",
        ),
    })
    .prefault({}),
  service: z
    .strictObject({
      name: label()
        .default("davit-gateway")
        .describe("Name of the gateways' Service, target of Ingress and HTTPRoute."),
      port: port().default(80).describe("Its port."),
    })
    .prefault({}),
  hosts: z.array(host).max(1_000).default([]).describe("The hosts of this release, and who may use them."),
});

/** Where deliveries may go beside public addresses; see `EgressGuard`. */
const deliveryEgress = () =>
  z
    .strictObject({
      allow: z
        .array(rangeOrHost())
        .max(1_000)
        .default([])
        .describe(
          "Address ranges and hosts that are not public, and that deliveries by `url` may nevertheless go to, or through as an egress proxy: `10.1.0.0/16`, `proxy.example.com`, `*.example.com`. A host's name covers private addresses and 100.64.0.0/10; loopback and link-local addresses need a range. Services of the cluster are reached by `serviceRef`, without this.",
        ),
    })
    .prefault({});

const workers = z.strictObject({
  image: z.string().default("davit:dev").describe("Image of workers, unless a route names its own."),
  imagePullPolicy: z.enum(["Always", "IfNotPresent", "Never"]).default("IfNotPresent").describe("Its pull policy."),
  imagePullSecrets: z
    .array(z.string())
    .max(8)
    .default([])
    .describe("Pull Secrets; each must exist in every namespace with workers."),
  defaults: z
    .strictObject({
      replicas: whole(0, 1_000).default(1).describe("Workers of each namespace."),
      concurrency: whole(1, 10_000).default(500).describe("Deliveries under way in one worker at most."),
      resources: resources().optional(),
    })
    .prefault({}),
  namespaces: z
    .record(
      z.string(),
      z.strictObject({
        replicas: whole(0, 1_000).optional(),
        concurrency: whole(1, 10_000).optional(),
        resources: resources().optional(),
      }),
    )
    .default({})
    .describe("Namespaces whose workers differ from `defaults`: name → `replicas`, `concurrency`, `resources`."),
  egress: deliveryEgress(),
});

/** Whoever hands mails over needs both, and sends them over TLS only. */
const smtp = z
  .strictObject({
    host: z.string().min(1).max(253).describe("Host of the SMTP server."),
    port: whole(1, 65_535)
      .optional()
      .describe("Its port. Default: 587 with `StartTLS`, 465 with `Implicit`, 25 with `None`."),
    tls: z
      .enum(["StartTLS", "Implicit", "None"])
      .default("StartTLS")
      .describe(
        "`StartTLS`: the server must offer it. `Implicit`: TLS from the first byte. `None`: in the clear and without credentials, to a relay beside the controller.",
      ),
    userFile: filePath().optional().describe("File with the user's name. Default: no authentication."),
    passwordFile: filePath().optional().describe("File with the password."),
    caFile: filePath().optional().describe("Authorities of the server's certificate, PEM. Default: the system's."),
    from: mailAddress().describe("Address of the sender."),
  })
  .refine(({ userFile, passwordFile }) => (userFile === undefined) === (passwordFile === undefined), {
    ...always,
    path: ["passwordFile"],
    error: "and userFile go together: set both or neither",
  })
  .refine(({ tls, userFile }) => tls !== "None" || userFile === undefined, {
    ...always,
    path: ["tls"],
    error: "is None, and a password would be sent in the clear: use StartTLS or Implicit, or remove userFile",
  });

const controller = z.strictObject({
  adminPort: port().default(9090).describe("Port of /metrics, /livez and /readyz."),
  address: z.string().default("0.0.0.0").describe("Its address."),
  identity: z.string().optional().describe("Identity in the leader Lease. Default: the host name and a random part."),
  concurrency: whole(1, 64).default(8).describe("Objects reconciled at the same time."),
  service: z
    .strictObject({
      name: label()
        .default("davit-controller")
        .describe("Name of the controllers' Service, where autoscalers read the backlog of workers."),
      port: port().default(9090).describe("Its port."),
    })
    .prefault({}),
  claimHoldMs: whole(0, 30 * 86_400_000)
    .default(86_400_000)
    .describe("How long a released host and path stays with its namespace."),
  orphanRetentionMs: whole(0, 365 * 86_400_000)
    .default(7 * 86_400_000)
    .describe("How long events of a deleted route are kept, ms; the same name takes them up again meanwhile."),
  smtp: smtp
    .optional()
    .describe(
      "Where notifications by mail (`notify.email` of WebhookDestinations) are handed over. Default: none are sent.",
    ),
});

/** What runs in a worker Pod beside its route config. */
const worker = z.strictObject({
  adminPort: port().default(9090).describe("Port of /metrics, /livez and /readyz."),
  address: z.string().default("0.0.0.0").describe("Its address."),
  configDir: z.string().optional().describe("Directory where the worker's first config Secret is mounted."),
  configName: z.string().optional().describe("Start of the names of the worker's config Secrets."),
  namespace: z
    .string()
    .optional()
    .describe("Namespace whose events are delivered. Differs from the Pod's own with Redis users `Shared`."),
  concurrency: whole(1, 10_000).default(500).describe("Deliveries under way at most."),
  egress: deliveryEgress(),
});

const cleaners = z.strictObject({
  image: z.string().default("davit:dev").describe("Image of cleaners."),
  resources: resources()
    .prefault({ requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "384Mi" } })
    .describe("Requests and limits of a cleaner container, as in a Pod."),
});

/** What runs in a cleaner Pod. All of it can come by `DAVIT_*` variables: a cleaner needs no file. */
const cleaner = z.strictObject({
  adminPort: port().default(9090).describe("Port of /metrics, /livez and /readyz."),
  address: z.string().default("0.0.0.0").describe("Its address."),
  namespace: z.string().optional().describe("Namespace of the CleanupPolicy."),
  policy: z.string().optional().describe("Name of the CleanupPolicy whose runs are carried out."),
  identity: z.string().optional().describe("Holder of the leases of runs. Default: the host name and a random part."),
  credentialsDirectory: z
    .string()
    .optional()
    .describe(
      "Directory with the files accessKeyId, secretAccessKey and, where there is one, sessionToken. Default: what the Pod has by its service account.",
    ),
  caFile: filePath().optional().describe("Authorities of the store's certificate, PEM. Default: the system's."),
  concurrency: whole(1, 64).default(4).describe("Runs under way at most, each of another scope."),
});

/** The operations API, and the listener for holders of tokens of WebhookDestinations. */
const console = z.strictObject({
  port: port().default(8082).describe("Port of the operations API, for the inside of the cluster; never expose it."),
  destinationPort: port()
    .optional()
    .describe(
      "Port of the listener for whoever has a token of a WebhookDestination (`access.tokenSecretRef`). Default: there is none.",
    ),
  address: z.string().default("0.0.0.0").describe("Address of all listeners."),
  adminPort: port().default(9090).describe("Port of /metrics, /livez and /readyz."),
  audience: z
    .string()
    .min(1)
    .max(253)
    .default("davit")
    .describe("Audience that the tokens of callers of the operations API must be made for."),
  shutdownDelayMs: whole(0, 3_600_000)
    .default(5_000)
    .describe("Time, not ready but still serving, before the listeners close."),
  shutdownGraceMs: whole(0, 3_600_000).default(15_000).describe("Time for requests in flight to end after that."),
});

/** The config file of every role: one YAML, a section per role. Unknown keys are refused. */
export const configSchema = z.strictObject({
  release: label().default("davit").describe("Helm release: prefix of what belongs to the release as a whole."),
  instance: label()
    .default("default")
    .describe("Objects with another `spec.instance` are none of this release's business."),
  namespace: label().default("davit-system").describe("The release's namespace."),
  logLevel: z.enum(["debug", "info", "warn", "error"]).default("info").describe("Least level that is logged."),
  redis,
  kubernetes: kubernetes.prefault({}),
  rbac: z
    .strictObject({
      scope: z
        .enum(["Cluster", "Namespaces"])
        .default("Cluster")
        .describe("Where the controller has its rights: in every namespace, or in those named."),
      namespaces: z.array(label()).max(1_000).default([]).describe("`Namespaces`: those that may have routes."),
    })
    .refine(({ scope, namespaces }) => scope !== "Namespaces" || (namespaces?.length ?? 0) > 0, {
      ...always,
      path: ["namespaces"],
      error: "is empty, but scope is Namespaces: name those that may have routes",
    })
    .prefault({}),
  controller: controller.prefault({}),
  gateway: gateway.prefault({}),
  console: console.prefault({}),
  workers: workers.prefault({}),
  worker: worker.prefault({}),
  cleaners: cleaners.prefault({}),
  cleaner: cleaner.prefault({}),
});

/** What `davit cleaner` goes by: everything but Redis, which it does not use; it must know its policy. */
export const cleanerConfigSchema = configSchema.omit({ redis: true }).extend({
  cleaner: cleaner.required({ namespace: true, policy: true }),
});
export type CleanerConfig = z.infer<typeof cleanerConfigSchema>;

/** A checked config, defaults filled in. */
export type Config = z.infer<typeof configSchema>;
export type HostConfig = Config["gateway"]["hosts"][number];
export type WorkersConfig = Config["workers"];
