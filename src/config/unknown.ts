import { nearest } from "../lib/nearest.ts";
import { type ConfigKey, formatKey, nodeAt, type SchemaNode } from "./keys.ts";
import type { ConfigProblem } from "./problem.ts";

/** Why a secret is refused, and what takes its place. */
function strayedSecret(remedy: string): string {
  return `secrets stay out of the config: write it to a file of its own and name that in ${remedy}`;
}

/** A key that the schema does not know: whether it is a secret in the wrong place, or which key was most likely meant. */
export function unknownKey(
  section: readonly (string | number)[],
  name: string,
  root: SchemaNode,
  keys: readonly ConfigKey[],
): ConfigProblem {
  const where = formatKey([...section, name]);
  const siblings = Object.keys(nodeAt(root, section)?.properties ?? {});
  if (siblings.includes(`${name}File`)) {
    return { where, message: strayedSecret(formatKey([...section, `${name}File`])) };
  }
  const meant = nearest(name, siblings);
  if (meant !== undefined) return { where, message: `no such key; did you mean ${formatKey([...section, meant])}?` };
  const elsewhere = keys.filter(({ path }) => path.at(-1) === name).map(({ path }) => formatKey(path));
  if (elsewhere.length > 0) return { where, message: `no such key here; did you mean ${elsewhere.join(" or ")}?` };
  return { where, message: `no such key; remove it (there are ${siblings.join(", ")})` };
}

/** A `DAVIT_*` variable that overrides no key. */
export function unknownVariable(variable: string, keys: readonly ConfigKey[]): ConfigProblem {
  const variables = keys.flatMap((key) => (key.variable === undefined ? [] : [key.variable]));
  if (variables.includes(`${variable}_FILE`)) {
    return { where: variable, message: strayedSecret(`${variable}_FILE`) };
  }
  const meant = nearest(variable, variables);
  const hint =
    meant === undefined ? "unset it (docs/config.md lists all; lists and maps have none)" : `did you mean ${meant}?`;
  return { where: variable, message: `overrides no key; ${hint}` };
}
