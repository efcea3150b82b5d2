import { verify as verifySignature } from "node:crypto";
import { crc32 } from "node:zlib";
import { DEFAULT_TOLERANCE_MS, VerificationConfigError, type VerifierOptions } from "../../config.ts";
import { decodeBytes, encodeDigest } from "../../encoding.ts";
import { checkMaterial } from "../../material-check.ts";
import type { MaterialRequest } from "../../material.ts";
import { refuse, singleHeader, type Refusal } from "../../refusal.ts";
import { checkTimestamp, nonceGoodFor, parseTimestamp } from "../../timestamp.ts";
import type { SignedRequest, Verifier } from "../../types.ts";

/** 16,384 bits, more than any certificate has. */
const MAX_SIGNATURE_BYTES = 2_048;

const HEADERS = {
  id: "paypal-transmission-id",
  time: "paypal-transmission-time",
  certificate: "paypal-cert-url",
  algorithm: "paypal-auth-algo",
  signature: "paypal-transmission-sig",
} as const;

/** The one algorithm that is taken, whatever the header says it were. */
const ALGORITHM = "SHA256withRSA";

/** A host of PayPal by its last labels, without port, user or query. */
const CERTIFICATE_URL = /^https:\/\/(?:[a-z0-9-]+\.)+paypal\.com\/[A-Za-z0-9._/-]{1,256}$/;
const TRANSMISSION_ID = /^[A-Za-z0-9-]{1,64}$/;

/** Who PayPal's signing certificates are made out to. */
const CERTIFICATE_NAMES = ["messageverificationcerts.paypal.com", "messageverificationcerts.sandbox.paypal.com"];

interface Claims {
  readonly id: string;
  readonly time: string;
  readonly signedAt: number;
  readonly signature: Buffer;
  readonly certificate: MaterialRequest;
}

/**
 * RSA-SHA256 over `id|time|webhook id|CRC-32 of the body`. A body with a given CRC-32 is easily made, so the transmission's id, which is signed, is good for
 * one body only.
 *
 * @throws VerificationConfigError `ParameterMissing` without `webhookId`
 */
export function paypalScheme({ parameters = {}, toleranceMs = DEFAULT_TOLERANCE_MS }: VerifierOptions): Verifier {
  const webhookId = parameters["webhookId"];
  if (!webhookId) {
    throw new VerificationConfigError(
      "ParameterMissing",
      "verification.parameters.webhookId: the id of the webhook is needed",
    );
  }
  return {
    secretHeaders: [HEADERS.signature],
    needs(request) {
      const claims = readClaims(request);
      return "ok" in claims ? claims : claims.certificate;
    },
    verify(request, _keys, now, material) {
      const claims = readClaims(request);
      if ("ok" in claims) return claims;
      const { id, time, signedAt, signature, certificate } = claims;
      const late = checkTimestamp(signedAt, now, toleranceMs, "rfc3339");
      if (late) return late;
      const usable = checkMaterial(material, certificate, "rsa", now);
      if ("ok" in usable) return usable;
      const content = Buffer.from(`${id}|${time}|${webhookId}|${crc32(request.body)}`, "utf8");
      if (!verifySignature("RSA-SHA256", content, usable.publicKey, signature)) {
        return refuse(
          "SignatureMismatch",
          `${HEADERS.signature} does not match: the raw body or verification.parameters.webhookId differs from what PayPal signed`,
        );
      }
      return {
        ok: true,
        key: undefined,
        signedAt,
        signature: encodeDigest(signature, "base64"),
        nonce: id,
        ...nonceGoodFor(signedAt, now, toleranceMs),
      };
    },
    sign() {
      throw new VerificationConfigError(
        "CannotSign",
        "paypal: only PayPal has the key that signs; resend an event from its dashboard (events of its simulator do not verify)",
      );
    },
  };
}

function readClaims(request: SignedRequest): Claims | Refusal {
  const sent = readHeaders(request);
  if ("ok" in sent) return sent;
  const signedAt = parseTimestamp(sent.time, "rfc3339");
  if (signedAt === undefined) return refuse("TimestampMalformed", `${HEADERS.time} is not RFC 3339`);
  if (sent.algorithm !== ALGORITHM) return refuse("SignatureMalformed", `${HEADERS.algorithm} is not ${ALGORITHM}`);
  if (!TRANSMISSION_ID.test(sent.id)) return refuse("SignatureMalformed", `${HEADERS.id} is no id of PayPal`);
  const signature = decodeBytes(sent.signature, "base64", MAX_SIGNATURE_BYTES);
  if (!signature) return refuse("SignatureMalformed", `${HEADERS.signature} is not base64`);
  const url = sent.certificate;
  if (!CERTIFICATE_URL.test(url)) {
    return refuse("CertificateUntrusted", `${HEADERS.certificate} is no https URL on a host of paypal.com`);
  }
  const certificate = { kind: "certificate", url, id: url, certificateNames: CERTIFICATE_NAMES } as const;
  return { id: sent.id, time: sent.time, signedAt, signature, certificate };
}

/** All five, each sent once. */
function readHeaders(request: SignedRequest): Readonly<Record<keyof typeof HEADERS, string>> | Refusal {
  const id = singleHeader(request, HEADERS.id, "SignatureMalformed");
  if (typeof id !== "string") return id;
  const time = singleHeader(request, HEADERS.time, "TimestampMalformed");
  if (typeof time !== "string") return time;
  const certificate = singleHeader(request, HEADERS.certificate, "CertificateUntrusted");
  if (typeof certificate !== "string") return certificate;
  const algorithm = singleHeader(request, HEADERS.algorithm, "SignatureMalformed");
  if (typeof algorithm !== "string") return algorithm;
  const signature = singleHeader(request, HEADERS.signature, "SignatureMalformed");
  if (typeof signature !== "string") return signature;
  return { id, time, certificate, algorithm, signature };
}
