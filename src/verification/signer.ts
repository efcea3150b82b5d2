import { VerificationConfigError } from "./config.ts";
import { usableAt, type PreparedKey } from "./keys.ts";
import { parseJson } from "../lib/json-source.ts";
import { isRecord } from "../lib/record.ts";

/**
 * The key that signs: the first that the clock allows.
 *
 * @throws VerificationConfigError `CannotSign`
 */
export function signerOf<T>(ring: readonly PreparedKey<T>[], now: number): PreparedKey<T> {
  const [signer] = usableAt(ring, now);
  if (!signer) throw cannotSign("no usable key to sign with");
  return signer;
}

/** The error of a scheme that cannot sign with what it has. */
export function cannotSign(why: string): VerificationConfigError {
  return new VerificationConfigError("CannotSign", why);
}

/**
 * A body into which a signature can be written.
 *
 * @param form what the provider sends, for the error
 * @throws VerificationConfigError `CannotSign` when it is no JSON object
 */
export function objectToSign(body: Buffer, form: string): Readonly<Record<string, unknown>> {
  const parsed = parseJson(body);
  if (parsed.ok && isRecord(parsed.value)) return parsed.value;
  throw cannotSign(`the signature stands in the body, which must be ${form}`);
}
