import { compile } from "json-schema-to-typescript";
import { CRD_FILES, crdSchema, type Kind } from "../../src/api/crd.ts";
import { type JsonSchema, toJsonSchema } from "../../src/api/json-schema.ts";
import type { Generator } from "./generator.ts";

/** Names of the types that other code mentions, by their place in the schema. The rest is written inline. */
const NAMES: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>> = {
  WebhookRoute: {
    WebhookRouteSpec: ["spec"],
    WebhookRouteStatus: ["status"],
    WebhookRouteVerification: ["spec", "verification"],
    WebhookRouteSecretRef: ["spec", "secretRefs", "[]"],
    WebhookRouteDestination: ["spec", "destinations", "[]"],
    WebhookRouteDelivery: ["spec", "delivery"],
    WebhookRouteRetry: ["spec", "delivery", "retry"],
    WebhookRouteCondition: ["status", "conditions", "[]"],
  },
  WebhookDestination: {
    WebhookDestinationSpec: ["spec"],
    WebhookDestinationStatus: ["status"],
    WebhookDestinationCondition: ["status", "conditions", "[]"],
  },
  CleanupPolicy: {
    CleanupPolicySpec: ["spec"],
    CleanupPolicyStatus: ["status"],
    CleanupPolicyScopeStatus: ["status", "scopes", "[]"],
    CleanupPolicyCondition: ["status", "conditions", "[]"],
  },
  CleanupRun: {
    CleanupRunSpec: ["spec"],
    CleanupRunStatus: ["status"],
    CleanupSnapshot: ["status", "snapshot"],
    CleanupCounters: ["status", "counters"],
    CleanupRunCondition: ["status", "conditions", "[]"],
  },
};

/** What we read of `metadata`; the API server checks it, so the schema says nothing. */
const METADATA: JsonSchema = {
  type: "object",
  required: ["name"],
  additionalProperties: true,
  properties: {
    name: { type: "string" },
    namespace: { type: "string" },
    uid: { type: "string" },
    generation: { type: "integer" },
    resourceVersion: { type: "string" },
    creationTimestamp: { type: "string" },
    labels: { type: "object", additionalProperties: { type: "string" } },
    annotations: { type: "object", additionalProperties: { type: "string" } },
  },
};

/** TypeScript types of a kind, from its CRD. */
export function crdTypes(kind: Kind, output: string): Generator {
  const source = `crds/${CRD_FILES[kind]}`;
  return {
    output,
    source,
    generate: async () => {
      const schema = toJsonSchema(crdSchema(kind)) as JsonSchema & { properties: Record<string, JsonSchema> };
      schema.properties["metadata"] = { ...METADATA, title: `${kind}Metadata` };
      schema["required"] = ["metadata", "spec"];
      for (const [title, path] of Object.entries(NAMES[kind])) at(schema, path)["title"] = title;
      return compile(schema, kind, {
        bannerComment: `// Generated from ${source} by \`npm run generate\`. Change the CRD, not this file.`,
        ignoreMinAndMaxItems: true,
        style: { printWidth: 120 },
      });
    },
  };
}

function at(schema: JsonSchema, path: readonly string[]): JsonSchema {
  return path.reduce<JsonSchema>((node, step) => {
    const next = step === "[]" ? node["items"] : (node["properties"] as Record<string, unknown>)[step];
    if (next === undefined) throw new Error(`the schema has no ${path.join(".")}: correct NAMES`);
    return next as JsonSchema;
  }, schema);
}
