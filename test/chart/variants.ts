/** Values that the chart is tested with, by name of the golden file. Together they reach every template. */
export const VARIANTS: Readonly<Record<string, object>> = {
  default: {},
  "namespaces-scope": {
    rbac: { scope: "Namespaces", namespaces: ["shop", "billing"], aggregate: false },
    crds: { install: false },
    redis: { users: "Shared", bundled: { storage: { ephemeral: true }, userId: null } },
    gateway: { replicas: 1, podDisruptionBudget: { enabled: false }, egress: { publicKeys: false } },
    controller: { replicas: 1 },
    networkPolicy: { enabled: true },
  },
  "external-redis": {
    image: {
      repository: "images.example.com/davit",
      digest: `sha256:${"0".repeat(64)}`,
      pullPolicy: "Always",
      pullSecrets: ["images"],
    },
    instance: "edge",
    logLevel: "debug",
    redis: {
      external: { secretName: "redis", controllerKey: "controller", gatewayKey: "gateway" },
      durability: "assert",
      replicas: 1,
      providedSecretName: "redis-workers",
    },
    controller: { serviceAccountAnnotations: { a: "b" }, podLabels: { c: "d" }, podAnnotations: { e: "f" } },
    gateway: {
      autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 20 },
      podDisruptionBudget: { maxUnavailable: "25%" },
      service: { type: "LoadBalancer", port: 8080, annotations: { a: "b" } },
      trustedProxies: ["10.0.0.0/8"],
      egress: { allow: ["10.9.0.0/16"] },
      shutdownDelayMs: 20_001,
      shutdownGraceMs: 3_600_000,
      hosts: [
        { host: "hooks.example.com", tlsSecretName: "hooks-tls", className: "nginx", annotations: { a: "b" } },
        { host: "edge.example.com", via: "HTTPRoute", parentRefs: [{ name: "edge", namespace: "edge" }] },
        { host: "in.example.com", via: "None", allowHTTP: true, namespaces: { matchLabels: { team: "shop" } } },
      ],
      priorityClassName: "high",
      nodeSelector: { zone: "a" },
      tolerations: [{ key: "edge", operator: "Exists" }],
      affinity: { nodeAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
    },
    workers: {
      image: "images.example.com/worker:1",
      defaults: { replicas: 2, concurrency: 1_000 },
      namespaces: { shop: { replicas: 5 } },
    },
    networkPolicy: { enabled: true },
  },
};
