import type { z } from "zod";
import { nearest } from "../lib/nearest.ts";
import { type ConfigKey, formatKey, nodeAt, type SchemaNode } from "./keys.ts";
import type { ConfigProblem } from "./problem.ts";
import { unknownKey } from "./unknown.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly (string | number)[];

/** What is needed to say what is wrong at a place. */
export interface Explained {
  readonly root: SchemaNode;
  readonly keys: readonly ConfigKey[];
  /** The document that was checked. */
  readonly document: unknown;
  /** Key → environment variable that set it. */
  readonly sources: ReadonlyMap<string, string>;
}

/** What the schema found, in our words: the key, what is wrong with it and what to write instead. */
export function explain(issue: Issue, context: Explained): readonly ConfigProblem[] {
  const path = issue.path as Path;
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((name) => unknownKey(path, name, context.root, context.keys));
  }
  const key = formatKey(path) || "the file";
  const variable = context.sources.get(path.join("."));
  const where = variable === undefined ? key : `${variable} (${key})`;
  const value = valueAt(context.document, path);
  if (value === undefined && issue.code !== "custom") return missing(path, context.root);
  return [{ where, message: wrong(issue, value, nodeAt(context.root, path)) }];
}

/** A section that is missing is told by the keys that it must have. */
function missing(path: Path, root: SchemaNode): ConfigProblem[] {
  const node = nodeAt(root, path);
  if (node?.required !== undefined) return node.required.flatMap((name) => missing([...path, name], root));
  const meaning = node?.description === undefined ? "" : `: ${node.description}`;
  return [{ where: formatKey(path), message: `is missing; write it${meaning}` }];
}

function wrong(issue: Issue, value: unknown, node: SchemaNode | undefined): string {
  if (node?.enum !== undefined) return choice(value, node.enum.map(String));
  // These carry the message that the schema gives them.
  if (issue.code === "custom" || issue.code === "invalid_format") return issue.message;
  if (node?.type === "integer") return `must be a whole number from ${node.minimum} to ${node.maximum}`;
  return wrongSize(issue, value) ?? wrongKind(value, node?.type);
}

function wrongSize(issue: Issue, value: unknown): string | undefined {
  if (issue.code === "too_small") return "is empty; write a value, or remove the key";
  if (issue.code !== "too_big") return undefined;
  if (Array.isArray(value)) return `has ${value.length} entries; at most ${String(issue.maximum)} are possible`;
  return `is too long; at most ${String(issue.maximum)} characters are possible`;
}

function choice(value: unknown, choices: readonly string[]): string {
  const meant = typeof value === "string" ? nearest(value, choices) : undefined;
  return `must be one of ${choices.join(", ")}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}

function wrongKind(value: unknown, type = ""): string {
  return `must be ${KINDS[type] ?? "something else"}, not ${kindOf(value)}`;
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  boolean: "true or false",
  array: "a list",
  object: "a section of keys",
};

function kindOf(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a section of keys" : `a ${typeof value === "string" ? "text" : typeof value}`;
}

function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[step] : undefined,
    document,
  );
}
