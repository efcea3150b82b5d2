import { isRecord } from "../lib/record.ts";
import type { ConfigKey } from "./keys.ts";
import type { ConfigProblem } from "./problem.ts";
import { unknownVariable } from "./unknown.ts";

/** Environment variables, as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that are no key of the config: where it lies, and what the command line reads itself. */
const NOT_CONFIG = new Set(["DAVIT_CONFIG", "DAVIT_DEBUG"]);

export interface Overridden {
  /** The document with the overrides in their places. */
  readonly document: unknown;
  /** Path of a key, as `formatKey` writes it → variable that set it. */
  readonly sources: ReadonlyMap<string, string>;
  readonly problems: readonly ConfigProblem[];
}

/** Puts `DAVIT_*` variables in the places of the keys they name. Pure; the document is not changed. */
export function applyEnvironment(document: unknown, keys: readonly ConfigKey[], env: Environment): Overridden {
  const byVariable = new Map(keys.flatMap((key) => (key.variable === undefined ? [] : [[key.variable, key] as const])));
  const sources = new Map<string, string>();
  const problems: ConfigProblem[] = [];
  let result = document;
  for (const [variable, text] of ours(env)) {
    const key = byVariable.get(variable);
    if (key === undefined) {
      problems.push(unknownVariable(variable, keys));
      continue;
    }
    result = withValue(result, key.path, typed(text, key.node.type));
    sources.set(key.path.join("."), variable);
  }
  return { document: result, sources, problems };
}

function ours(env: Environment): [variable: string, text: string][] {
  const links = serviceLinks(env);
  return Object.entries(env).filter((entry): entry is [string, string] => {
    const [variable, text] = entry;
    return text !== undefined && variable.startsWith("DAVIT_") && !NOT_CONFIG.has(variable) && !isLink(variable, links);
  });
}

/**
 * Kubernetes tells a Pod of every Service of its namespace: `DAVIT_GATEWAY_SERVICE_HOST`, `DAVIT_GATEWAY_PORT=tcp://…` and more for one named
 * `davit-gateway`. They are no overrides. (kubernetes.io/docs, "Environment variables" of a Service; our own Pods switch it off.)
 */
function serviceLinks(env: Environment): string[] {
  const end = "_SERVICE_HOST";
  return Object.keys(env)
    .filter((variable) => variable.startsWith("DAVIT_") && variable.endsWith(end))
    .map((variable) => variable.slice(0, -end.length));
}

function isLink(variable: string, links: readonly string[]): boolean {
  return links.some((link) =>
    [`${link}_SERVICE_HOST`, `${link}_SERVICE_PORT`, `${link}_PORT`].some(
      (name) => variable === name || (!name.endsWith("HOST") && variable.startsWith(`${name}_`)),
    ),
  );
}

/** The text as the type of its key; left alone when it is none, for the schema to say so. */
function typed(text: string, type: string | undefined): string | number | boolean {
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function withValue(document: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  // Something else than a section where one belongs: the schema will say so.
  if (document !== undefined && document !== null && !isRecord(document)) return document;
  return { ...document, [step]: withValue(document?.[step], rest, value) };
}
