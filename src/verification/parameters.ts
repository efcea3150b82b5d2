import { VerificationConfigError } from "./config.ts";
import type { Preset, PresetParameter } from "./presets/preset.ts";

type Parameters = Readonly<Record<string, string>>;

/**
 * Checks a route's parameters against what its preset takes.
 *
 * @throws VerificationConfigError `ParameterMissing`, `ParameterInvalid`; the message names `verification.parameters.NAME`
 */
export function checkParameters(preset: Pick<Preset, "name" | "parameters">, parameters: Parameters): void {
  const names = preset.parameters.map(({ name }) => name);
  for (const name of Object.keys(parameters)) {
    if (names.includes(name)) continue;
    const remedy = names.length === 0 ? "remove it, it takes none" : `use ${names.join(", ")}`;
    throw invalid(name, `the provider ${preset.name} has no such parameter: ${remedy}`);
  }
  for (const parameter of preset.parameters) checkParameter(parameter, parameters);
}

function checkParameter({ name, required, values, pattern, description }: PresetParameter, parameters: Parameters) {
  const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  if (value === undefined) {
    if (!required) return;
    throw new VerificationConfigError(
      "ParameterMissing",
      `verification.parameters.${name} is missing: set ${description}`,
    );
  }
  if (values !== undefined && !values.includes(value)) throw invalid(name, `use one of ${values.join(", ")}`);
  if (pattern !== undefined && !matchesWhole(pattern, value))
    throw invalid(name, `it is malformed: set ${description}`);
}

function matchesWhole(pattern: RegExp, value: string): boolean {
  return new RegExp(`^(?:${pattern.source})$`, pattern.flags.replace(/[gy]/g, "")).test(value);
}

function invalid(name: string, remedy: string): VerificationConfigError {
  return new VerificationConfigError("ParameterInvalid", `verification.parameters.${name}: ${remedy}`);
}
