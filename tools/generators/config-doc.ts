import { type ConfigKey, configKeys, formatKey, type SchemaNode } from "../../src/config/keys.ts";
import type { Generator } from "./generator.ts";

/** `docs/config.md`: a table of every key, from the schema that checks it. */
export const configDoc: Generator = {
  output: "docs/config.md",
  source: "src/config/schema.ts",
  generate: async () => {
    const keys = configKeys();
    return [
      "# Config",
      "",
      "Generated from `src/config/schema.ts` by `npm run generate`.",
      "",
      "`controller`, `gateway` and `worker` read one YAML file, named by `--config`. Only `redis.urlFile` is required. An environment variable",
      "overrides its key. Unknown keys and variables are refused. Secrets stay out of it: keys that end in `File` take the path of a file.",
      "",
      "| key | type | default | variable | meaning |",
      "|---|---|---|---|---|",
      ...keys.map(row),
      "",
    ].join("\n");
  },
};

function row({ path, node, required, variable }: ConfigKey): string {
  const cells = [
    `\`${formatKey(path)}\``,
    typeOf(node),
    required ? "required" : defaultOf(node),
    variable === undefined ? "" : `\`${variable}\``,
    node.description ?? "",
  ];
  return `| ${cells.join(" | ")} |`;
}

function typeOf(node: SchemaNode): string {
  if (node.enum !== undefined) return node.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (node.type === "integer") return `${node.minimum} … ${node.maximum}`;
  if (node.type === "array") return "list";
  return node.type === "object" ? "map" : (node.type ?? "");
}

function defaultOf({ default: value }: SchemaNode): string {
  return value === undefined ? "" : `\`${JSON.stringify(value)}\``;
}
