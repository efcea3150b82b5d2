import { UsageError } from "./command.ts";

/**
 * Reads `--parameter name=value` flags, as `spec.verification.parameters` would hold them. What a provider takes is checked where its verifier is made.
 *
 * @throws UsageError when a flag is not of that form
 */
export function parseParameters(flags: readonly string[]): Readonly<Record<string, string>> {
  const parameters: Record<string, string> = {};
  for (const flag of flags) {
    const at = flag.indexOf("=");
    if (at < 1) throw new UsageError("--parameter: write name=value");
    parameters[flag.slice(0, at)] = flag.slice(at + 1);
  }
  return parameters;
}
