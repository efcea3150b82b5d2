import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import type { z } from "zod";
import { applyEnvironment, type Environment } from "./environment.ts";
import { explain } from "./explain.ts";
import { configJsonSchema, configKeys } from "./keys.ts";
import { ConfigError, type ConfigProblem } from "./problem.ts";
import { type CleanerConfig, cleanerConfigSchema, type Config, configSchema } from "./schema.ts";

/**
 * Reads the config of a role: YAML (or JSON) in `file`, scalars overridden by `DAVIT_*` variables of `env`, checked against the schema.
 *
 * @returns the config with defaults filled in, frozen in depth
 * @throws ConfigError that lists every problem at once, each with its key and remedy; no text of the file is repeated
 */
export function loadConfig(file: string, env: Environment): Config {
  return parseConfig(readText(file), env, file);
}

/** {@link loadConfig} for a cleaner. @param file absent: there is none, and everything comes by variables */
export function loadCleanerConfig(file: string | undefined, env: Environment): CleanerConfig {
  const text = file === undefined ? "" : readText(file);
  return parsed({ text, name: file ?? "of DAVIT_* variables" }, env, cleanerConfigSchema);
}

/** {@link loadConfig} over a text; `name` is what messages call it. Pure. */
export function parseConfig(text: string, env: Environment, name: string): Config {
  return parsed({ text, name }, env, configSchema);
}

function parsed<T>(
  { text, name }: { readonly text: string; readonly name: string },
  env: Environment,
  schema: z.ZodType<T>,
): T {
  const root = configJsonSchema();
  const keys = configKeys(root);
  const { document, sources, problems } = applyEnvironment(parseYaml(text, name) ?? {}, keys, env);
  const result = schema.safeParse(document);
  const found = [
    ...(result.error?.issues ?? []).flatMap((issue) => explain(issue, { root, keys, document, sources })),
    ...problems,
  ];
  if (found.length > 0 || !result.success) throw refused(name, found);
  return deepFreeze(result.data);
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ConfigError(`cannot read the config ${file} (${code}): name a readable YAML file with --config`);
  }
}

/** yaml's own messages quote the text, which may hold what it must not: only its code and the line are told. */
function parseYaml(text: string, name: string): unknown {
  const document = parseDocument(text, { prettyErrors: false });
  const problems = document.errors.map(({ code, pos }) => ({
    where: `line ${text.slice(0, pos[0]).split("\n").length}`,
    message: `is no valid YAML (${code})`,
  }));
  if (problems.length > 0) throw refused(name, problems);
  return document.toJS();
}

function refused(name: string, problems: readonly ConfigProblem[]): ConfigError {
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  const lines = problems.map(({ where, message }) => `\n  ${where}: ${message}`);
  return new ConfigError(`the config ${name} has ${count}:${lines.join("")}`, problems);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
