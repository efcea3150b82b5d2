import { join } from "node:path";

/** Where the parts of one control plane listen (all on 127.0.0.1) and keep their files. */
export interface Place {
  readonly dir: string;
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
  readonly controllerManager: number;
}

/** What a plane of a test's own can have otherwise. */
export interface ControlPlaneOptions {
  /** How often the API server compacts etcd, e.g. `5s`; with `watchCache: false` old resourceVersions are then really 410 Gone. Default `5m`. */
  readonly etcdCompactionInterval?: string;
  /** false: lists and watches are served by etcd itself. Default true. */
  readonly watchCache?: boolean;
  /** A watch lasts one to two times as many seconds. Default 1800. */
  readonly minRequestTimeoutSeconds?: number;
  /** More flags of kube-apiserver; they win over the ones set here. */
  readonly apiServerFlags?: readonly string[];
  /** false: no kube-controller-manager: no default service accounts, no garbage collection, no pods of Deployments. Default true. */
  readonly controllerManager?: boolean;
  /** CRDs to install: `davit` for `crds/`, `all` for those of `test/support/crds/` as well. Default none. */
  readonly crds?: "davit" | "all";
}

const flag = (name: string, value: string | number | boolean) => `--${name}=${value}`;

/** Flags of etcd (controller-runtime's envtest, and fabric8's additions for stability). */
export function etcdFlags({ dir, etcd, etcdPeer }: Place): string[] {
  const [client, peer] = [`http://127.0.0.1:${etcd}`, `http://127.0.0.1:${etcdPeer}`];
  return [
    flag("data-dir", join(dir, "etcd")),
    flag("listen-client-urls", client),
    flag("advertise-client-urls", client),
    flag("listen-peer-urls", peer),
    flag("initial-advertise-peer-urls", peer),
    flag("initial-cluster", `default=${peer}`),
    flag("name", "default"),
    flag("unsafe-no-fsync", true),
    flag("log-level", "warn"),
  ];
}

/** Flags of kube-apiserver. The endpoint reconciler is off because loopback may not stand in an Endpoints object. */
export function apiServerFlags(place: Place, options: ControlPlaneOptions): string[] {
  const pki = (name: string) => join(place.dir, "pki", name);
  const flags = [
    flag("etcd-servers", `http://127.0.0.1:${place.etcd}`),
    flag("etcd-compaction-interval", options.etcdCompactionInterval ?? "5m"),
    flag("watch-cache", options.watchCache ?? true),
    flag("min-request-timeout", options.minRequestTimeoutSeconds ?? 1800),
    flag("bind-address", "127.0.0.1"),
    flag("secure-port", place.apiServer),
    flag("advertise-address", "127.0.0.1"),
    flag("endpoint-reconciler-type", "none"),
    flag("cert-dir", join(place.dir, "pki")),
    flag("tls-cert-file", pki("apiserver.crt")),
    flag("tls-private-key-file", pki("apiserver.key")),
    flag("client-ca-file", pki("client-ca.crt")),
    // Nobody is such a proxy; but without its CA the controller manager complains every few seconds.
    flag("requestheader-client-ca-file", pki("client-ca.crt")),
    flag("requestheader-allowed-names", "front-proxy"),
    flag("service-account-issuer", `https://127.0.0.1:${place.apiServer}/`),
    flag("service-account-key-file", pki("sa-signer.crt")),
    flag("service-account-signing-key-file", pki("sa-signer.key")),
    flag("service-cluster-ip-range", "10.0.0.0/24"),
    flag("authorization-mode", "RBAC"),
    flag("allow-privileged", true),
  ];
  // Without the controller manager nobody makes the service accounts that this admission demands.
  if (options.controllerManager === false) flags.push(flag("disable-admission-plugins", "ServiceAccount"));
  return [...flags, ...(options.apiServerFlags ?? [])];
}

/** Those that tests need; none of nodes, so that nothing marks the fake kubelet's node as lost. */
const CONTROLLERS = [
  "namespace-controller",
  "garbage-collector-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "root-ca-certificate-publisher-controller",
  "clusterrole-aggregation-controller",
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "job-controller",
  "cronjob-controller",
  "ttl-after-finished-controller",
  "pod-garbage-collector-controller",
  "disruption-controller",
  "endpointslice-controller",
  "resourcequota-controller",
];

/** Flags of kube-controller-manager; `kubeconfig` is the administrator's. */
export function controllerManagerFlags(place: Place, kubeconfig: string): string[] {
  const pki = (name: string) => join(place.dir, "pki", name);
  return [
    flag("kubeconfig", kubeconfig),
    flag("authentication-kubeconfig", kubeconfig),
    flag("authorization-kubeconfig", kubeconfig),
    flag("authorization-always-allow-paths", "/healthz,/readyz,/livez,/metrics"),
    flag("bind-address", "127.0.0.1"),
    flag("secure-port", place.controllerManager),
    flag("root-ca-file", pki("serving-ca.crt")),
    flag("service-account-private-key-file", pki("sa-signer.key")),
    flag("cluster-signing-cert-file", pki("client-ca.crt")),
    flag("cluster-signing-key-file", pki("client-ca.key")),
    flag("leader-elect", false),
    flag("controllers", CONTROLLERS.join(",")),
    flag("kube-api-qps", 300),
    flag("kube-api-burst", 600),
  ];
}
