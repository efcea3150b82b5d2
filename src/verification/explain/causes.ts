import type { VerificationKey } from "../types.ts";
import { unitFinding } from "./clock.ts";
import { finding, type Finding } from "./finding.ts";
import { matching } from "./matching.ts";
import { otherProvider } from "./providers.ts";
import type { Case } from "./question.ts";
import type { SchemeForm } from "./scheme-form.ts";
import { headerFindings } from "./signatures.ts";
import type { PlainRequest } from "./variants.ts";

/** Why a request is refused, the most likely cause first: what makes the signature match, what can be seen, what is left. */
export function causes(at: Case): readonly Finding[] {
  const seen = visible(at);
  const matched = matching(at);
  if (matched.length > 0) return matchedCauses(at, matched, seen);
  const other = elsewhere(at);
  if (other?.code === "OtherProvider") return [...seen.filter(({ code }) => code === "HeaderSha1Only"), other];
  const all = [...seen, ...(other ? [other] : [])];
  return all.length > 0 ? all : [leftOver(at)];
}

/** A signature in another header is mostly another provider's. */
function matchedCauses(at: Case, matched: readonly Finding[], seen: readonly Finding[]): readonly Finding[] {
  const other = matched[0]?.code === "HeaderRenamed" ? elsewhere(at) : undefined;
  const provider = other?.code === "OtherProvider" ? [other] : [];
  return [...provider, ...matched, ...seen.filter(({ code }) => code === "BodyCut")];
}

/** What can be seen without any key. */
function visible({ question, candidate, form, probe, refused }: Case): Finding[] {
  const { request } = candidate;
  const unit = unitFinding(request.headers, form.signature, question.now);
  return [
    ...secretFindings(question.keys, form, refused),
    ...headerFindings(request, probe.secretHeaders, form.signature),
    ...(unit ? [unit] : []),
    ...cutFindings(request),
  ];
}

function cutFindings({ headers, body }: PlainRequest): Finding[] {
  const declared = headers["content-length"]?.[0];
  if (declared === undefined || !/^\d+$/.test(declared) || Number(declared) === body.length) return [];
  return [finding("BodyCut", { actual: body.length, declared })];
}

function elsewhere({ question, candidate, refused }: Case): Finding | undefined {
  const { config, now, material = [] } = question;
  if (config.type !== "provider") return undefined;
  const other = otherProvider(candidate, config.provider, { now, material });
  return other?.code === "OtherProvider" || refused.reason === "HeaderMissing" ? other : undefined;
}

function secretFindings(keys: readonly VerificationKey[], form: SchemeForm, refused: Case["refused"]): Finding[] {
  if (refused.reason === "NoUsableKey" && keys.length === 0) return [finding("SecretMissing")];
  const blank = keys.findIndex(({ secret }) => secret.isBlank);
  if (blank >= 0) return [finding("SecretEmpty", { number: blank + 1 })];
  if (refused.reason !== "NoUsableKey") return [];
  return [finding("SecretUndecodable", { number: 1, needed: form.secretForm })];
}

/** A signature that is well formed and wrong may be another secret's; of anything else the verdict itself says what it is. */
function leftOver({ refused, probe, candidate, question }: Case): Finding {
  const { detail, reason } = refused;
  if (reason === "HeaderMissing") {
    const present = Object.keys(candidate.request.headers).slice(0, 20).join(", ") || "none";
    return finding("HeaderMissing", { detail, present });
  }
  if (reason === "MaterialUnavailable" && (question.material ?? []).length > 0) {
    return finding("MaterialOther", { kind: "public material", id: detail });
  }
  const isWrong = reason === "SignatureMismatch" || reason === "TokenMismatch" || reason === "CredentialsMismatch";
  return isWrong && question.keys.length > 0
    ? finding("Unexplained", { detail, tries: probe.tries })
    : finding("AsRefused", { detail });
}
