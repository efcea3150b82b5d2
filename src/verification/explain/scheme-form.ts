import type { HmacConfig, SignatureConfig, VerifierConfig } from "../config.ts";
import { presetOf, schemeOf } from "../verifier.ts";

/** What is known of how a scheme's signature is written. Fields are absent where the scheme is a function of its own. */
export interface SchemeForm {
  /** How a person calls it. */
  readonly title: string;
  /** How the Secret is to be written. */
  readonly secretForm: string;
  readonly signature?: SignatureConfig;
  readonly hmac?: HmacConfig;
}

/** As much of Standard Webhooks as can be said like another scheme. */
const STANDARD_WEBHOOKS: SignatureConfig = {
  header: "webhook-signature",
  encoding: "base64",
  prefix: "v1,",
  separator: " ",
  signedContent: "{id}.{timestamp}.{body}",
  timestamp: { header: "webhook-timestamp", unit: "seconds" },
};

/** The form of a scheme. */
export function formOf(config: VerifierConfig, parameters: Readonly<Record<string, string>>): SchemeForm {
  if (config.type !== "provider") return { title: config.type, secretForm: "the text itself", ...partsOf(config) };
  const { title, scheme, secrets } = presetOf(config.provider);
  return { title, secretForm: secrets.description, ...partsOf(schemeOf(scheme, parameters)) };
}

function partsOf(scheme: ReturnType<typeof schemeOf> | VerifierConfig): Pick<SchemeForm, "signature" | "hmac"> {
  if (scheme.type === "hmac") {
    const hmac: HmacConfig = scheme;
    return { signature: hmac, hmac };
  }
  if (scheme.type === "standard-webhooks") return { signature: STANDARD_WEBHOOKS };
  return scheme.type === "prefix-hash" || scheme.type === "public-key" ? { signature: scheme } : {};
}
