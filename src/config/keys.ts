import { z } from "zod";
import { configSchema } from "./schema.ts";

/** As much of JSON Schema as zod makes of our schema. */
export interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly additionalProperties?: boolean | SchemaNode;
}

/** The schema of the config file as JSON Schema: what may be written, before defaults. */
export function configJsonSchema(): SchemaNode {
  return z.toJSONSchema(configSchema, { io: "input" }) as SchemaNode;
}

/** One key of the config file. */
export interface ConfigKey {
  /** `[]` is a step into the entries of a list. */
  readonly path: readonly string[];
  readonly node: SchemaNode;
  readonly required: boolean;
  /** Environment variable that overrides it; only scalars outside lists have one. */
  readonly variable?: string;
}

const SCALARS = new Set(["string", "integer", "boolean"]);

/** Every key that holds a value, in the order of the schema. */
export function configKeys(root: SchemaNode = configJsonSchema()): readonly ConfigKey[] {
  return keysBelow(root, []);
}

function keysBelow(node: SchemaNode, path: readonly string[]): ConfigKey[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const here = [...path, name];
    if (child.properties !== undefined) return keysBelow(child, here);
    const key = { path: here, node: child, required: node.required?.includes(name) ?? false };
    if (child.items?.properties !== undefined) return [key, ...keysBelow(child.items, [...here, "[]"])];
    return SCALARS.has(child.type ?? "") && !path.includes("[]") ? [{ ...key, variable: variableOf(here) }] : [key];
  });
}

/** `redis.urlFile` → `DAVIT_REDIS_URL_FILE`. A test shows that no two keys share one. */
export function variableOf(path: readonly string[]): string {
  return ["DAVIT", ...path.map((step) => step.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toUpperCase())].join("_");
}

/** A key as it is named in texts: `gateway.hosts[0].via`. */
export function formatKey(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    if (step === "[]") return `${text}[]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

/** The part of the schema that a path leads to; `undefined` where it leads nowhere. */
export function nodeAt(root: SchemaNode, path: readonly (string | number)[]): SchemaNode | undefined {
  return path.reduce<SchemaNode | undefined>((node, step) => {
    if (typeof step === "number") return node?.items;
    if (node?.properties !== undefined) return node.properties[step];
    return typeof node?.additionalProperties === "object" ? node.additionalProperties : undefined;
  }, root);
}
