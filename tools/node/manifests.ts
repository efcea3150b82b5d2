import { readFileSync } from "node:fs";
import { join } from "node:path";
import { IMAGE } from "./images.ts";

/** Names of the run. */
export const RELEASE = "davit";
export const SYSTEM = "davit-system";
export const TENANT = "shop";
export const HOST = "hooks.example.com";

/** Values of the chart: images that are in the node, and a volume that it has. */
export const VALUES = {
  image: { ...image(IMAGE.davit), pullPolicy: "Never" },
  gateway: { hosts: [{ host: HOST, via: "None", allowHTTP: true }], shutdownDelayMs: 3_000 },
  redis: { bundled: { image: { ...image(IMAGE.redis), pullPolicy: "Never" }, storage: { ephemeral: true } } },
};

function image(name: string): { repository: string; tag: string } {
  const [repository = "", tag = ""] = name.split(":");
  return { repository, tag };
}

/** A namespace that lets no Pod in that needs more than the restricted Pod Security Standard allows. */
export const restrictedNamespace = (name: string) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
});

/** A Secret of the tenant with one key, `value`. */
export const secret = (name: string, value: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: TENANT },
  stringData: { value },
});

/** A route of the tenant that verifies as GitHub does, with the key of the Secret of its name. */
export const route = (name: string, spec: object) => ({
  apiVersion: "davit.dev/v1alpha1",
  kind: "WebhookRoute",
  metadata: { name, namespace: TENANT },
  spec: {
    exposure: { host: HOST, path: `/${name}` },
    verification: { provider: "github" },
    secretRefs: [{ name, key: "value" }],
    ...spec,
  },
});

/** The receiver: a Pod of the davit image with a program of its own, and a Service before it. */
export function receiver(): readonly object[] {
  const metadata = { name: "receiver", namespace: TENANT, labels: { app: "receiver" } };
  const program = readFileSync(join(import.meta.dirname, "receiver.mjs"), "utf8");
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { "receiver.mjs": program } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector: metadata.labels, ports: [{ port: 80, targetPort: 8080 }] },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 1,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
        containers: [
          {
            name: "receiver",
            image: IMAGE.davit,
            imagePullPolicy: "Never",
            command: ["node", "/program/receiver.mjs"],
            readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 },
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] },
            },
            volumeMounts: [{ name: "program", mountPath: "/program", readOnly: true }],
          },
        ],
        volumes: [{ name: "program", configMap: { name: "receiver" } }],
      },
    },
  ];
}
