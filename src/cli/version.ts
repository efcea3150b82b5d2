import { readFileSync } from "node:fs";
import { type Command, outputFormat, parse, printJson } from "./command.ts";

/** Davit's version, from the package beside the program. */
export function davitVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** `davit version`: of Davit and of the Node it runs on. */
export const command: Command = {
  name: "version",
  summary: "print the version",
  usage: "davit version [-o table|json]",
  async run(argv, io) {
    const { values } = parse(argv, { output: { type: "string", short: "o" } });
    const version = davitVersion();
    if (outputFormat(values.output) === "json") printJson(io, { davit: version, node: process.version });
    else io.stdout.write(`davit ${version} (node ${process.version})\n`);
    return 0;
  },
};
