import { formatDuration } from "../lib/duration.ts";
import type { SchemeConfig } from "../verification/config.ts";
import { presets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { schemeOf } from "../verification/verifier.ts";
import { type Command, outputFormat, parse, printJson } from "./command.ts";
import { table } from "./table.ts";

/** `davit providers`: what `spec.verification.provider` may be. */
export const command: Command = {
  name: "providers",
  summary: "list the providers whose signatures are known",
  usage: "davit providers [-o table|json]",
  async run(argv, io) {
    const { values } = parse(argv, { output: { type: "string", short: "o" } });
    const all = [...presets.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    if (outputFormat(values.output) === "json") printJson(io, all);
    else io.stdout.write(table(["NAME", "TITLE", "SIGNATURE", "ID", "TOLERANCE", "REPEATS FOR"], all.map(row)));
    return 0;
  },
};

function row(preset: Preset): readonly string[] {
  const { name, title, dedupe, toleranceMs, retryWindowMs } = preset;
  const scheme = schemeOf(preset.scheme);
  const ids = dedupe.map((source) => (source.from === "json" ? `json:${source.pointer}` : source.name));
  const tolerance = signsTime(scheme) ? formatDuration(toleranceMs) : "-";
  return [name, title, describe(scheme), ids.join(" ") || "-", tolerance, formatDuration(retryWindowMs)];
}

function describe(scheme: SchemeConfig): string {
  if (scheme.type === "hmac") return `${scheme.header} (HMAC-${scheme.algorithm.toUpperCase()})`;
  return scheme.type === "token" ? `${scheme.header} (token)` : scheme.type;
}

function signsTime(scheme: SchemeConfig): boolean {
  return scheme.type === "standard-webhooks" || (scheme.type === "hmac" && scheme.timestamp !== undefined);
}
