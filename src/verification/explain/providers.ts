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

/**
 * Another provider whose signature this is: one that matches with the keys at hand, else one whose own headers are there.
 *
 * @param own name of the preset that refused it
 */
export function otherProvider(
  candidate: Candidate,
  own: string,
  options: Omit<ProbeOptions, "config">,
): Finding | undefined {
  const others = [...presets.values()].filter(({ name }) => name !== own);
  const matching = others.find((preset) => signs(preset, candidate, options));
  if (matching !== undefined) return finding("OtherProvider", { title: matching.title, provider: matching.name });
  const alike = others.find((preset) =>
    ownHeaders(preset).some((name) => candidate.request.headers[name] !== undefined),
  );
  return alike && finding("OtherProviderHeaders", { title: alike.title, provider: alike.name });
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
