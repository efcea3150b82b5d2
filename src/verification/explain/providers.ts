import { presets } from "../presets/index.ts";
import type { Preset } from "../presets/preset.ts";
import { createVerifier } from "../verifier.ts";
import { finding, type Finding } from "./finding.ts";
import { Probe, type ProbeOptions } from "./probe.ts";
import type { Candidate } from "./variants.ts";

/** Headers that many senders use: they say nothing about who it is. */
const COMMON = new Set([
  "authorization",
  "x-signature",
  "x-hub-signature",
  "x-hub-signature-256",
  "webhook-signature",
  "signature",
]);

/** Most providers that one finding names: several may have the same scheme. */
const MAX_NAMED = 3;

/**
 * Another provider whose signature this is: those that match with the keys at hand, else one whose own headers are there.
 *
 * @param own name of the preset that refused it
 */
export function otherProvider(
  candidate: Candidate,
  own: string,
  options: Omit<ProbeOptions, "config">,
): Finding | undefined {
  const others = [...presets.values()].filter(({ name }) => name !== own);
  const matching = withoutNamesakes(others.filter((preset) => signs(preset, candidate, options)));
  if (matching.length > 0) return named("OtherProvider", matching);
  const alike = others.filter((preset) =>
    ownHeaders(preset).some((name) => candidate.request.headers[name] !== undefined),
  );
  return alike.length > 0 ? named("OtherProviderHeaders", alike) : undefined;
}

/** Many send by Standard Webhooks: that is then what it is. */
function withoutNamesakes(matching: readonly Preset[]): readonly Preset[] {
  const standard = matching.filter(({ name }) => name === "standard-webhooks");
  return standard.length > 0 ? standard : matching;
}

function named(code: "OtherProvider" | "OtherProviderHeaders", found: readonly Preset[]): Finding {
  const some = found.slice(0, MAX_NAMED);
  const title = some.map((preset) => preset.title).join(" or ");
  return finding(code, { title, provider: some.map(({ name }) => name).join(" or ") });
}

/** Only where a header with a signature is there: a preset that checks none, or a static token that any header may hold, proves nothing. */
function signs(preset: Preset, candidate: Candidate, options: Omit<ProbeOptions, "config">): boolean {
  try {
    const probe = new Probe({ ...options, parameters: {}, config: { type: "provider", provider: preset.name } });
    const hasHeader = probe.secretHeaders.some((name) => candidate.request.headers[name] !== undefined);
    if (!hasHeader) return false;
    const verdict = probe.verdict(candidate);
    return verdict?.ok === true && verdict.key !== undefined;
  } catch {
    // Its required parameters are not at hand.
    return false;
  }
}

function ownHeaders({ name }: Preset): readonly string[] {
  try {
    const { secretHeaders } = createVerifier({ type: "provider", provider: name });
    return secretHeaders.filter((header) => !COMMON.has(header));
  } catch {
    return [];
  }
}
