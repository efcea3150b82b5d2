import { type HmacConfig } from "../config.ts";
import type { Verdict } from "../types.ts";
import { presetOf, schemeOf, signsUrl } from "../verifier.ts";
import { bodyVariants } from "./bodies.ts";
import { clockFinding } from "./clock.ts";
import { finding, type Finding } from "./finding.ts";
import { Probe } from "./probe.ts";
import type { Case, Question } from "./question.ts";
import { SECRET_VARIANTS } from "./secrets.ts";
import { signatureVariants } from "./signatures.ts";
import { METHOD_VARIANTS, urlVariants } from "./urls.ts";
import type { Candidate, Variant } from "./variants.ts";

/** The changes, one or two, that make the signature match, with what then still is the matter with its time. Empty: none does. */
export function matching(at: Case): readonly Finding[] {
  const { candidate, probe } = at;
  const plain = probe.verdict(candidate);
  if (plain?.ok) return timely(at, plain, []);
  const groups = variantGroups(at);
  for (const variant of groups.flat()) {
    const found = tryAll(at, [variant]);
    if (found) return found;
  }
  for (const pair of pairs(groups)) {
    const found = tryAll(at, pair);
    if (found) return found;
  }
  return otherScheme(at);
}

function timely(at: Case, verdict: Extract<Verdict, { ok: true }>, changes: readonly Finding[]): readonly Finding[] {
  const { now } = at.question;
  const late =
    verdict.signedAt !== undefined && Math.abs(now - verdict.signedAt) > at.toleranceMs && at.toleranceMs > 0;
  const clock = late ? clockFinding(verdict, { now, toleranceMs: at.toleranceMs }) : undefined;
  return [...changes, ...(clock ? [clock] : [])];
}

/** `undefined`: no match, or a variant changes nothing here. */
function tryAll(at: Case, variants: readonly Variant[]): readonly Finding[] | undefined {
  let candidate: Candidate | undefined = at.candidate;
  for (const { change } of variants) candidate = candidate && change(candidate);
  const verdict = candidate && at.probe.verdict(candidate);
  return verdict?.ok
    ? timely(
        at,
        verdict,
        variants.map((variant) => variant.finding),
      )
    : undefined;
}

type Groups = readonly [
  readonly Variant[],
  readonly Variant[],
  readonly Variant[],
  readonly Variant[],
  readonly Variant[],
];

function variantGroups({ question, candidate, form, probe }: Case): Groups {
  const { request } = candidate;
  return [
    keyVariants(question),
    SECRET_VARIANTS,
    signatureVariants(request, probe.secretHeaders, form.signature),
    bodyVariants(request.body),
    coversUrl(question) ? [...urlVariants(request), ...METHOD_VARIANTS] : [],
  ];
}

/** Two things at once: likely ones of each kind only, so that the work stays bounded. */
function* pairs([keys, secrets, signatures, bodies, urls]: Groups): Generator<readonly Variant[]> {
  const kinds = [[...keys, ...secrets], signatures, bodies, urls];
  for (const [index, first] of kinds.entries()) {
    for (const second of kinds.slice(index + 1)) {
      for (const one of first.slice(0, 18)) for (const two of second.slice(0, 24)) yield [one, two];
    }
  }
}

/** Keys that do not count, those past their end, and the same keys in another order (schemes with one key per header). */
function keyVariants({ keys, otherKeys = [], now }: Question): readonly Variant[] {
  const others = otherKeys.map((key): Variant => {
    const code = key.state === "next" ? "KeyNext" : "KeyPrevious";
    return { finding: finding(code), change: ({ request }) => ({ request, keys: [key] }) };
  });
  const expired = keys.flatMap((key): Variant[] => {
    const { notAfter, ...rest } = key;
    if (notAfter === undefined || notAfter >= now) return [];
    const seconds = Math.round((now - notAfter) / 1_000);
    return [{ finding: finding("KeyExpired", { seconds }), change: ({ request }) => ({ request, keys: [rest] }) }];
  });
  const swapped: Variant = {
    finding: finding("KeysSwapped"),
    change: ({ request, keys: order }) => (order.length < 2 ? undefined : { request, keys: order.toReversed() }),
  };
  return [...others, ...expired, swapped];
}

function coversUrl({ config, parameters }: Question): boolean {
  if (config.type !== "provider") return config.type === "hmac" && signsUrl(config);
  return signsUrl(schemeOf(presetOf(config.provider).scheme, parameters));
}

const CONTENTS = [
  "{body}",
  "{timestamp}.{body}",
  "{timestamp}{body}",
  "{timestamp}:{body}",
  "v0:{timestamp}:{body}",
  "{url}{body}",
  "{body}{url}",
];

/** An HMAC of another algorithm, or over something else. */
function otherScheme({ question, candidate, form }: Case): readonly Finding[] {
  const { hmac } = form;
  if (hmac === undefined) return [];
  const attempts = [
    ...(["sha1", "sha256", "sha384", "sha512", "md5"] as const).map((algorithm) => ({
      config: { ...hmac, algorithm },
      found: finding("AlgorithmDiffers", { algorithm: algorithm.toUpperCase() }),
    })),
    ...CONTENTS.map((content) => ({
      config: withContent(hmac, content),
      found: finding("ContentDiffers", { content }),
    })),
  ];
  const matched = attempts.find(({ config }) => matchesConfig(config, candidate, question));
  return matched ? [matched.found] : [];
}

/** Without a timestamp where the content has none: the two go together. */
function withContent(hmac: HmacConfig, signedContent: string): HmacConfig {
  if (signedContent.includes("{timestamp}")) return { ...hmac, signedContent };
  const { timestamp: _, ...rest } = hmac;
  return { ...rest, signedContent };
}

function matchesConfig(config: HmacConfig, candidate: Candidate, { now, material = [], idHeader }: Question): boolean {
  try {
    return new Probe({ config, now, material, ...(idHeader !== undefined && { idHeader }) }).matches(candidate);
  } catch {
    return false;
  }
}
