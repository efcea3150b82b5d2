import { verify as verifySignature } from "node:crypto";
import { DEFAULT_TOLERANCE_MS, VerificationConfigError, type VerifierOptions } from "../../config.ts";
import { decodeBytes, encodeDigest } from "../../encoding.ts";
import { checkMaterial } from "../../material-check.ts";
import type { Material } from "../../material.ts";
import { refuse, type Refusal } from "../../refusal.ts";
import { checkTimestamp, parseTimestamp } from "../../timestamp.ts";
import type { SignedRequest, Verdict, Verifier } from "../../types.ts";
import { readMessage, type SnsMessage } from "./message.ts";

/** 16,384 bits, more than any certificate has. */
const MAX_SIGNATURE_BYTES = 2_048;

/**
 * RSA over fields of the body, under the certificate that the body names. Anybody may have a topic, and its messages verify as well: the topic is
 * compared first, so that a message of another one never makes anything be fetched.
 *
 * @throws VerificationConfigError `ParameterMissing` without `topicArn`
 */
export function snsScheme({ parameters = {}, toleranceMs = DEFAULT_TOLERANCE_MS }: VerifierOptions): Verifier {
  const topicArn = parameters["topicArn"];
  if (!topicArn) {
    throw new VerificationConfigError(
      "ParameterMissing",
      "verification.parameters.topicArn: the ARN of the topic is needed",
    );
  }
  const read = (request: SignedRequest) => ofTopic(readMessage(request), topicArn);
  return {
    secretHeaders: [],
    needs(request) {
      const message = read(request);
      return "ok" in message ? message : message.certificate;
    },
    verify(request, _keys, now, material) {
      const message = read(request);
      if ("ok" in message) return message;
      const signedAt = parseTimestamp(message.timestamp, "rfc3339");
      if (signedAt === undefined) return refuse("TimestampMalformed", "field Timestamp of the body is not RFC 3339");
      const late = checkTimestamp(signedAt, now, toleranceMs, "rfc3339");
      return late ?? verifyMessage(message, material, now, signedAt);
    },
    sign() {
      throw new VerificationConfigError(
        "CannotSign",
        "aws-sns: only AWS has the key that signs; publish to the topic instead (aws sns publish)",
      );
    },
  };
}

function ofTopic(message: SnsMessage | Refusal, topicArn: string): SnsMessage | Refusal {
  if ("ok" in message || message.topicArn === topicArn) return message;
  return refuse("SenderMismatch", "field TopicArn of the body is not the topic in verification.parameters.topicArn");
}

function verifyMessage(message: SnsMessage, material: Material | undefined, now: number, signedAt: number): Verdict {
  const { algorithm, content, certificate } = message;
  const signature = decodeBytes(message.signature, "base64", MAX_SIGNATURE_BYTES);
  if (!signature) return refuse("SignatureMalformed", "field Signature of the body is not base64");
  const usable = checkMaterial(material, certificate, "rsa", now);
  if ("ok" in usable) return usable;
  if (!verifySignature(algorithm, content, usable.publicKey, signature)) {
    return refuse("SignatureMismatch", "Signature does not match the fields of the body under the certificate of SNS");
  }
  return {
    ok: true,
    key: undefined,
    signedAt,
    signature: encodeDigest(signature, "base64"),
    deliveryId: message.messageId,
  };
}
