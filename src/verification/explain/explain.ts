import { DEFAULT_TOLERANCE_MS } from "../config.ts";
import { createVerifier, presetOf } from "../verifier.ts";
import type { Verdict, VerificationKey } from "../types.ts";
import { causes } from "./causes.ts";
import { dedupeFinding } from "./dedupe.ts";
import { finding, type Finding } from "./finding.ts";
import { materialFinding, trustFinding } from "./material.ts";
import { judge, Probe, toSigned } from "./probe.ts";
import type { Explanation, Question } from "./question.ts";
import { formOf } from "./scheme-form.ts";

/**
 * Says why a request is refused: tries what is usually the matter, one change at a time and then two, and reports the first that makes the signature match.
 * Pure; at most 2,000 checks of a signature, so never for a gateway's path.
 *
 * @throws VerificationConfigError when config and parameters make no verifier
 */
export function explain(question: Question): Explanation {
  const { config, request, keys, now, material = [], parameters = {} } = question;
  const options = { parameters, ...(question.idHeader !== undefined && { idHeader: question.idHeader }) };
  const toleranceMs = question.toleranceMs ?? defaultTolerance(question);
  const verifier = createVerifier(config, { ...options, toleranceMs });
  const signed = toSigned(request);
  const verdict = judge(verifier, signed, keys, { now, material });
  if (verdict.ok) return { verdict, findings: accepted(question, verdict) };
  const certain = trustFinding(verdict) ?? materialFinding(verifier, signed, material, now);
  if (certain) return { verdict, findings: [certain] };
  const probe = new Probe({ config, ...options, now, material });
  const form = formOf(config, parameters);
  return {
    verdict,
    findings: causes({ question, candidate: { request, keys }, probe, form, toleranceMs, refused: verdict }),
  };
}

function defaultTolerance({ config }: Question): number {
  return config.type === "provider" ? presetOf(config.provider).toleranceMs : DEFAULT_TOLERANCE_MS;
}

function accepted(question: Question, verdict: Extract<Verdict, { ok: true }>): Finding[] {
  const { keys, request } = question;
  const dedupe = question.dedupe ?? defaultDedupe(question);
  return [
    finding("Valid"),
    ...keyFindings(verdict, keys),
    ...(dedupe ? [dedupeFinding(toSigned(request), dedupe)] : []),
  ];
}

function defaultDedupe({ config }: Question): Question["dedupe"] {
  if (config.type !== "provider") return undefined;
  const { dedupe, withoutId } = presetOf(config.provider);
  return { sources: dedupe, withoutId };
}

function keyFindings({ key }: Extract<Verdict, { ok: true }>, keys: readonly VerificationKey[]): Finding[] {
  if (key?.state === "previous") return [finding("KeyPrevious")];
  if (key?.state === "next") return [finding("KeyNext")];
  const number = keys.findIndex(({ id }) => id === key?.id) + 1;
  return number > 0 && keys.length > 1 ? [finding("KeyOther", { number, count: keys.length })] : [];
}
