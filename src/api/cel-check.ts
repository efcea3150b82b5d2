import { Environment } from "@marcbachmann/cel-js";
import { fieldOf } from "../lib/record.ts";
import type { CelRule, StructuralSchema } from "./crd.ts";
import { isWithin, joinPath, type Problem } from "./problem.ts";
import { listMapKey } from "./schema-check.ts";

const environment = new Environment().registerVariable("self", "dyn").registerVariable("oldSelf", "dyn");

type Rule = (variables: { self: unknown; oldSelf?: unknown }) => unknown;
const parsed = new Map<string, Rule>();

function compile(text: string): Rule {
  let rule = parsed.get(text);
  if (rule === undefined) {
    rule = environment.parse(text) as Rule;
    parsed.set(text, rule);
  }
  return rule;
}

/** A value, the one it replaces (`undefined`: none to compare with) and where it stands. */
interface Node {
  readonly schema: StructuralSchema;
  readonly value: unknown;
  readonly old: unknown;
  readonly path: string;
}

/**
 * Evaluates a schema's CEL rules as the API server does: at each node that is present; rules that mention `oldSelf` only where the previous
 * object has a value at the same place (elements of a list map correspond by their keys, of other lists not at all).
 *
 * @param invalidPaths fields the schema refuses; rules of the nodes that contain them are not evaluated
 */
export function checkRules(
  schema: StructuralSchema,
  object: unknown,
  previous: unknown,
  invalidPaths: readonly string[],
): Problem[] {
  const problems: Problem[] = [];
  const visit = (node: Node): void => {
    if (node.value === undefined) return;
    if (!invalidPaths.some((path) => isWithin(path, node.path))) {
      for (const rule of node.schema["x-kubernetes-validations"] ?? []) problems.push(...evaluate(rule, node));
    }
    for (const child of children(node)) visit(child);
  };
  visit({ schema, value: object, old: previous, path: "" });
  return problems;
}

function evaluate(rule: CelRule, { value, old, path }: Node): Problem[] {
  const isTransition = /\boldSelf\b/.test(rule.rule);
  if (isTransition && old === undefined) return [];
  const base = { path: `${path}${rule.fieldPath ?? ""}`, source: "cel", severity: "error" } as const;
  try {
    const holds = compile(rule.rule)(isTransition ? { self: value, oldSelf: old } : { self: value });
    return holds === true ? [] : [{ ...base, message: rule.message ?? `failed rule: ${rule.rule}` }];
  } catch (error) {
    const detail = error instanceof Error ? error.message.split("\n")[0] : String(error);
    return [{ ...base, message: `rule "${rule.rule}" could not be evaluated: ${detail}` }];
  }
}

function children({ schema, value, old, path }: Node): Node[] {
  if (Array.isArray(value)) {
    const items = schema.items ?? {};
    return value.map((item, index) => ({
      schema: items,
      value: item,
      old: correspondingItem(schema, item, old),
      path: joinPath(path, index),
    }));
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const childSchema = schema.properties?.[key] ?? schema.additionalProperties;
    return childSchema === undefined
      ? []
      : [{ schema: childSchema, value: child, old: fieldOf(old, key), path: joinPath(path, key) }];
  });
}

function correspondingItem(schema: StructuralSchema, item: unknown, old: unknown): unknown {
  if (schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(old)) return undefined;
  const key = JSON.stringify(listMapKey(schema, item));
  return old.find((candidate) => JSON.stringify(listMapKey(schema, candidate)) === key);
}
