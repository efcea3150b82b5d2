import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isMap, isScalar, parseDocument, type YAMLMap } from "yaml";
import { configJsonSchema, nodeAt, type SchemaNode } from "../../src/config/keys.ts";
import type { Generator } from "./generator.ts";

const VALUES = "charts/davit/values.yaml";

/** Values that go into the config file as they are, by the config key that says what is valid. */
export const FROM_CONFIG: Readonly<Record<string, string>> = {
  instance: "instance",
  logLevel: "logLevel",
  "controller.concurrency": "controller.concurrency",
  "controller.claimHoldMs": "controller.claimHoldMs",
  "controller.orphanRetentionMs": "controller.orphanRetentionMs",
  "controller.smtp.tls": "controller.smtp.tls",
  "gateway.hosts": "gateway.hosts",
  "gateway.trustedProxies": "gateway.trustedProxies",
  "gateway.egress.allow": "gateway.egress.allow",
  "gateway.api.audience": "gateway.api.audience",
  "gateway.shutdownDelayMs": "gateway.shutdownDelayMs",
  "gateway.shutdownGraceMs": "gateway.shutdownGraceMs",
  "console.audience": "console.audience",
  "console.shutdownDelayMs": "console.shutdownDelayMs",
  "console.shutdownGraceMs": "console.shutdownGraceMs",
  "workers.defaults.replicas": "workers.defaults.replicas",
  "workers.defaults.concurrency": "workers.defaults.concurrency",
  "workers.namespaces": "workers.namespaces",
  "workers.egress.allow": "workers.egress.allow",
  "image.pullPolicy": "workers.imagePullPolicy",
  "image.pullSecrets": "workers.imagePullSecrets",
  "redis.providedSecretName": "redis.providedSecretName",
  "redis.durability": "redis.durability",
  "redis.replicas": "redis.replicas",
  "redis.bundled.image.pullPolicy": "workers.imagePullPolicy",
  "rbac.scope": "rbac.scope",
  "rbac.namespaces": "rbac.namespaces",
};

type Json = Readonly<Record<string, unknown>>;

const DIGEST = { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" };
const QUANTITY = { type: "string", pattern: "^[0-9.]+(m|[kMGTPE]i?)?$" };
const RESOURCES = {
  type: "object",
  additionalProperties: false,
  properties: Object.fromEntries(
    ["requests", "limits"].map((name) => [
      name,
      { type: "object", additionalProperties: { type: ["string", "number"] } },
    ]),
  ),
};
const SERVICE_PORT = { type: "integer", minimum: 1, maximum: 65_535 };
const atLeast = (minimum: number) => ({ type: "integer", minimum });

/** What a default value alone does not tell. */
const SPECIAL: Readonly<Record<string, Json>> = {
  "image.digest": DIGEST,
  "redis.bundled.image.digest": DIGEST,
  "controller.replicas": atLeast(0),
  "controller.service.port": SERVICE_PORT,
  "controller.smtp.port": SERVICE_PORT,
  "gateway.replicas": atLeast(0),
  "gateway.autoscaling.minReplicas": atLeast(1),
  "gateway.autoscaling.maxReplicas": atLeast(1),
  "gateway.autoscaling.targetCPUUtilizationPercentage": atLeast(1),
  "gateway.podDisruptionBudget.maxUnavailable": { type: ["integer", "string"] },
  "gateway.service.type": { type: "string", enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
  "gateway.service.port": SERVICE_PORT,
  "gateway.api.port": SERVICE_PORT,
  "gateway.cacheSizeLimit": QUANTITY,
  "console.replicas": atLeast(0),
  "console.podDisruptionBudget.maxUnavailable": { type: ["integer", "string"] },
  "console.service.port": SERVICE_PORT,
  "console.destinations.type": { type: "string", enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
  "console.destinations.port": SERVICE_PORT,
  "redis.users": { type: "string", enum: ["", "Shared", "Provided", "Provisioned"] },
  "redis.bundled.maxmemory": { type: "string", pattern: "^[0-9]+(kb|mb|gb)?$" },
  "redis.bundled.storage.size": QUANTITY,
  "redis.bundled.userId": { type: ["integer", "null"], minimum: 1 },
};

/** `charts/davit/values.schema.json`: closed; keys and descriptions from values.yaml, what is valid from the schema of the config. */
export const valuesSchema: Generator = {
  output: "charts/davit/values.schema.json",
  source: `${VALUES} and src/config/schema.ts`,
  generate: async () => {
    const text = await readFile(join(import.meta.dirname, "../..", VALUES), "utf8");
    const schema = { $schema: "http://json-schema.org/draft-07/schema#", ...valuesJsonSchema(text) };
    return `${JSON.stringify(schema, null, 2)}\n`;
  },
};

/** Pure part of {@link valuesSchema}. @throws Error that names a key without a comment */
export function valuesJsonSchema(text: string): Json {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error(`${VALUES} is no map`);
  const schema = section(contents, "", configJsonSchema());
  // Helm adds `global` for the sake of charts that contain this one.
  return { ...schema, properties: { ...(schema["properties"] as Json), global: { type: "object" } } };
}

function section(map: YAMLMap, path: string, config: SchemaNode): Json {
  const properties = map.items.map(({ key, value }, index) => {
    if (!isScalar(key)) throw new Error(`${VALUES}: a key of ${path} is no text`);
    const here = path === "" ? String(key.value) : `${path}.${String(key.value)}`;
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined);
    const node = leaf(here, value, config);
    if (node === undefined) return [key.value, section(value as YAMLMap, here, config)];
    if (!comment) throw new Error(`${VALUES}: ${here} has no comment`);
    return [
      key.value,
      {
        description: comment
          .split("\n")
          .map((line) => line.trim())
          .join(" "),
        ...node,
      },
    ];
  });
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}

/** Schema of a key that is no section of further keys. */
function leaf(path: string, value: unknown, config: SchemaNode): Json | undefined {
  if (SPECIAL[path] !== undefined) return SPECIAL[path];
  if (path.endsWith("resources")) return RESOURCES;
  const key = FROM_CONFIG[path];
  if (key !== undefined) return withoutDefaults(nodeAt(config, key.split(".")), key);
  if (isScalar(value)) return { type: Number.isInteger(value.value) ? "integer" : typeof value.value };
  if (!isMap(value)) return { type: "array" };
  return value.items.length === 0 ? { type: "object" } : undefined;
}

/** The config's own defaults are left out: those of values.yaml hold. */
function withoutDefaults(node: SchemaNode | undefined, key: string): Json {
  if (node === undefined) throw new Error(`the config has no key ${key}: correct FROM_CONFIG`);
  return JSON.parse(JSON.stringify(node, (name, value: unknown) => (name === "default" ? undefined : value))) as Json;
}
