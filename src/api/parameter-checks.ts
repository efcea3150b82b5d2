import type { Preset, PresetParameter } from "../verification/presets/preset.ts";
import { type Check, refuse } from "./check.ts";
import { joinPath, type Problem } from "./problem.ts";

/** `spec.verification.parameters` against what the preset knows. A problem names the parameter, what it may be, and where the provider shows it. */
export const parametersAreKnown: Check = ({ route, preset }) => {
  if (preset === undefined) return [];
  const written = new Map(Object.entries(route.spec.verification.parameters ?? {}));
  const unknown = [...written.keys()].filter((name) => !preset.parameters.some((known) => known.name === name));
  return [
    ...unknown.map((name) => unknownParameter(preset, name)),
    ...preset.parameters.flatMap((parameter) => problemOf(preset, parameter, written.get(parameter.name))),
  ];
};

function unknownParameter({ title, parameters }: Preset, name: string): Problem {
  const names = parameters.map((known) => known.name);
  return refuse({
    path: pathOf(name),
    message: `${title} has no parameter ${name}`,
    remedy: names.length === 0 ? "remove it" : `use ${names.join(", ")}`,
  });
}

function problemOf({ title }: Preset, parameter: PresetParameter, value: string | undefined): Problem[] {
  const { name, required, values, pattern, description } = parameter;
  const path = pathOf(name);
  const allowed = values === undefined ? "" : `, one of ${values.join(", ")}`;
  if (value === undefined) {
    const remedy = `${description}${allowed}`;
    return required ? [refuse({ path, message: `${title} needs the parameter ${name}`, remedy })] : [];
  }
  if (values !== undefined && !values.includes(value)) {
    return [refuse({ path, message: `must be one of ${values.join(", ")}`, remedy: description })];
  }
  if (pattern === undefined || pattern.test(value)) return [];
  return [refuse({ path, message: `must match ${pattern.source}`, remedy: description })];
}

function pathOf(name: string): string {
  return joinPath("spec.verification.parameters", name);
}
