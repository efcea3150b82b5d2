import { VerificationConfigError } from "../verification/config.ts";
import { isSigned } from "../verification/verifier.ts";
import { type Check, refuse } from "./check.ts";
import type { ResolvedWebhookRouteSpec } from "./defaults.ts";
import { verifierConfig } from "./verifier-config.ts";

/** A push that starts deletions says which in its body: whoever could change the body could choose what is deleted. */
export const cleanupsAreSigned: Check = ({ spec }) => {
  const asked = spec.destinations.flatMap(({ cleanup }, index) => (cleanup === undefined ? [] : [index]));
  if (asked.length === 0 || isBodySigned(spec)) return [];
  return asked.map((index) =>
    refuse({
      path: `spec.destinations[${index}].cleanup`,
      message: "the sender's signature does not cover the body, which says what is deleted",
      remedy: "use verification.hmac over {body}, or a provider that signs it, such as queue-push",
    }),
  );
};

/** Of a verification that makes no sense nothing is said here: it is refused elsewhere. */
function isBodySigned(spec: ResolvedWebhookRouteSpec): boolean {
  const { parameters } = spec.verification;
  try {
    return isSigned(verifierConfig(spec), "body", parameters && { parameters });
  } catch (error) {
    if (error instanceof VerificationConfigError) return true;
    throw error;
  }
}
