import { formatDuration, parseDuration } from "../lib/duration.ts";
import { nearest } from "../lib/nearest.ts";
import { type SchemeConfig, VerificationConfigError } from "../verification/config.ts";
import { createVerifier, readsKeyIds, schemeOf, signsTime, signsUrl } from "../verification/verifier.ts";
import { type Check, refuse, type Subject, warn } from "./check.ts";
import { parametersAreKnown } from "./parameter-checks.ts";
import { secretsAreNamed, secretsAreRead } from "./secret-checks.ts";
import { verifierConfig } from "./verifier-config.ts";

/** The scheme with its parameters; `undefined` when there is none, which another check says. */
function schemeOfSubject({ spec, preset }: Subject): SchemeConfig | undefined {
  const config = verifierConfig(spec);
  if (config.type !== "provider") return config;
  if (preset === undefined) return undefined;
  try {
    return schemeOf(preset.scheme, spec.verification.parameters);
  } catch (error) {
    if (error instanceof VerificationConfigError) return undefined;
    throw error;
  }
}

/** Who sends, in a message. */
function sender({ preset }: Subject): string {
  return preset?.title ?? "this verification";
}

/** What only Davit can tell of `spec.verification`, and of what depends on it. */
export const VERIFICATION_CHECKS: readonly Check[] = [
  function providerIsKnown({ route, presets }) {
    const { provider } = route.spec.verification;
    if (provider === undefined || presets.has(provider)) return [];
    const near = nearest(provider, [...presets.keys()]);
    return [
      refuse({
        path: "spec.verification.provider",
        message: `unknown provider "${provider}"`,
        remedy:
          near === undefined
            ? "davit providers lists those that are known; describe another scheme under hmac or token"
            : `did you mean ${near}?`,
      }),
    ];
  },
  parametersAreKnown,
  function verifierCanBeMade(subject) {
    const { spec, preset } = subject;
    const { provider, parameters = {} } = spec.verification;
    if (provider !== undefined && preset === undefined) return [];
    // One with wrong parameters was told of already, each by its name.
    if (parametersAreKnown(subject).length > 0) return [];
    try {
      createVerifier(verifierConfig(spec), { idHeader: "any", parameters });
      return [];
    } catch (error) {
      if (!(error instanceof VerificationConfigError)) throw error;
      return [refuse({ path: "spec.verification", message: error.message })];
    }
  },
  secretsAreNamed,
  secretsAreRead,
  function toleranceIsUsed(subject) {
    const scheme = schemeOfSubject(subject);
    if (subject.route.spec.verification.tolerance === undefined || scheme === undefined || signsTime(scheme)) return [];
    return [
      warn({
        path: "spec.verification.tolerance",
        message: `tolerance is never looked at: ${sender(subject)} signs no time`,
        remedy: "remove it",
      }),
    ];
  },
  function publicUrlIsWritten(subject) {
    const { route, spec } = subject;
    const scheme = schemeOfSubject(subject);
    if (route.spec.verification.publicUrl !== undefined || scheme === undefined || !signsUrl(scheme)) return [];
    return [
      warn({
        path: "spec.verification.publicUrl",
        message: `${sender(subject)} signs the URL that is set up there, and ${spec.verification.publicUrl} is taken for it`,
        remedy: "write it exactly as it stands there: http or https, host, port, path and query",
      }),
    ];
  },
  function overlapCoversTolerance(subject) {
    const { rotation, verification } = subject.spec;
    // There is no key of one's own to rotate.
    if (subject.preset?.secrets.signing === "none") return [];
    const scheme = schemeOfSubject(subject);
    const { tolerance } = verification;
    if (tolerance === undefined || scheme === undefined || !signsTime(scheme)) return [];
    if (parseDuration(rotation.overlap) >= parseDuration(tolerance)) return [];
    return [
      refuse({
        path: "spec.rotation.overlap",
        message: `rotation.overlap (${rotation.overlap}) must not be shorter than verification.tolerance (${tolerance})`,
        remedy: `write ${tolerance} or more`,
      }),
    ];
  },
  function overlapCoversRetries({ route, preset }) {
    const overlap = route.spec.rotation?.overlap;
    if (overlap === undefined || preset === undefined || parseDuration(overlap) >= preset.retryWindowMs) return [];
    return [
      warn({
        path: "spec.rotation.overlap",
        message: `${preset.title} may repeat a delivery for ${formatDuration(preset.retryWindowMs)}, longer than the overlap`,
        remedy: "lengthen the overlap unless the provider signs each repetition anew",
      }),
    ];
  },
  function deliveriesHaveAnId({ spec, preset }) {
    const { withoutId, weakWindow, keyFrom } = spec.dedupe;
    const isUnknown = spec.verification.provider !== undefined && preset === undefined;
    if (keyFrom.length > 0 || withoutId === "Refuse" || isUnknown) return [];
    const meaning = {
      Signature: `only equal signature and body within ${weakWindow} are a duplicate`,
      Body: `equal bodies within ${weakWindow} are one event`,
      None: "there is no dedupe: every request is a new event",
    }[withoutId];
    return [
      warn({
        path: "spec.dedupe.keyFrom",
        message:
          preset === undefined ? `without keyFrom ${meaning}` : `${preset.title} sends no id of an event: ${meaning}`,
        remedy: `name the header or the field that identifies a delivery${preset === undefined ? "" : ", if there is one"}`,
      }),
    ];
  },
  function keyIdsAreUsed(subject) {
    const scheme = schemeOfSubject(subject);
    if (scheme === undefined || readsKeyIds(scheme)) return [];
    const isOwn = subject.spec.verification.hmac !== undefined;
    return subject.spec.secretRefs.flatMap(({ keyId }, index) =>
      keyId === undefined
        ? []
        : [
            warn({
              path: `spec.secretRefs[${index}].keyId`,
              message: `keyId is never looked at: ${sender(subject)} names no key`,
              remedy: isOwn ? "set verification.hmac.keyIdHeader, or remove keyId" : "remove keyId",
            }),
          ],
    );
  },
];
