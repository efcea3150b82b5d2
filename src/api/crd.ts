import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { fieldOf } from "../lib/record.ts";

/** A rule of `x-kubernetes-validations`. */
export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  /** Field the problem is reported at, relative to the node, with a leading dot. */
  readonly fieldPath?: string;
}

/** A node of a CRD's structural schema: the part of OpenAPI v3 that Kubernetes allows there. */
export interface StructuralSchema {
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-validations"?: readonly CelRule[];
}

/** Our kinds and the file under `crds/` that describes each. */
export const CRD_FILES = {
  WebhookRoute: "webhookroutes.davit.dev.yaml",
  WebhookDestination: "webhookdestinations.davit.dev.yaml",
  CleanupPolicy: "cleanuppolicies.davit.dev.yaml",
  CleanupRun: "cleanupruns.davit.dev.yaml",
} as const;
export type Kind = keyof typeof CRD_FILES;

const loaded = new Map<Kind, StructuralSchema>();

/**
 * The schema of a kind, read once from `crds/` beside the program (the same place in the source tree and in the package).
 *
 * @throws Error when the package is incomplete
 */
export function crdSchema(kind: Kind): StructuralSchema {
  const known = loaded.get(kind);
  if (known !== undefined) return known;
  const text = readFileSync(new URL(`../../crds/${CRD_FILES[kind]}`, import.meta.url), "utf8");
  const versions = fieldOf(fieldOf(parse(text), "spec"), "versions");
  const schema = fieldOf(fieldOf(Array.isArray(versions) ? versions[0] : undefined, "schema"), "openAPIV3Schema");
  if (!isObjectSchema(schema)) throw new Error(`crds/${CRD_FILES[kind]} has no openAPIV3Schema`);
  loaded.set(kind, schema);
  return schema;
}

function isObjectSchema(value: unknown): value is StructuralSchema {
  return fieldOf(value, "type") === "object";
}
