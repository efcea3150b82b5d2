import { valueAt } from "../../../lib/json-source.ts";
import { isUnicode } from "../../../lib/unicode.ts";
import { refuse, type Refusal } from "../../refusal.ts";
import type { MaterialRequest } from "../../material.ts";
import type { SignedRequest } from "../../types.ts";

/** A message of SNS, before its signature was checked. Every value is a field of the body's JSON. */
export interface SnsMessage {
  readonly topicArn: string;
  readonly timestamp: string;
  readonly messageId: string;
  readonly algorithm: "RSA-SHA1" | "RSA-SHA256";
  readonly signature: string;
  readonly certificate: MaterialRequest;
  /** What the signature covers. */
  readonly content: Buffer;
}

/** Fields that are signed, in their order; one with a question mark may be missing: https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html. */
const SIGNED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Notification: ["Message", "MessageId", "Subject?", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
};

const ALGORITHMS: Readonly<Record<string, SnsMessage["algorithm"]>> = { 1: "RSA-SHA1", 2: "RSA-SHA256" };

/** UUIDs, as SNS documents them. */
const MESSAGE_ID = /^[A-Za-z0-9-]{1,100}$/;

/**
 * Certificates of SNS. The form of a region keeps out `sns.s3-us-west-2.amazonaws.com`, which is a bucket of storage that anybody may own; no port, user,
 * query or second folder.
 */
const CERTIFICATE_URL =
  /^https:\/\/sns\.([a-z]{2,4}(?:-[a-z]+)+-\d{1,2})\.(amazonaws\.com(?:\.cn)?)\/[A-Za-z0-9-]{1,128}\.pem$/;

/**
 * Reads a message; refuses one that could not have come from SNS. Nothing is believed yet. Of two fields of one name the last counts, as JSON.parse has it; a
 * destination must read them the same way, since fields are signed and not the body.
 */
export function readMessage(request: SignedRequest): SnsMessage | Refusal {
  const raw = request.header("x-amz-sns-rawdelivery");
  if (raw.some((value) => value.toLowerCase() === "true")) {
    return refuse("SignatureMissing", "SNS signs no raw messages: turn RawMessageDelivery of the subscription off");
  }
  const body = request.json();
  const type = body.ok ? valueAt(body.value, ["Type"]) : undefined;
  if (!body.ok || type === undefined) {
    return refuse("SignatureMissing", "the body is no message of SNS; is RawMessageDelivery of the subscription on?");
  }
  const names = typeof type === "string" && Object.hasOwn(SIGNED_FIELDS, type) ? SIGNED_FIELDS[type] : undefined;
  if (!names) return refuse("SignatureMalformed", "field Type of the body is none of SNS");
  return readFields(body.value, names);
}

function readFields(body: unknown, names: readonly string[]): SnsMessage | Refusal {
  const content = canonicalText(body, names);
  if (typeof content !== "string") return content;
  const text = (name: string) => valueAt(body, [name]);
  if (!MESSAGE_ID.test(String(text("MessageId")))) {
    return refuse("SignatureMalformed", "field MessageId of the body is no id of SNS");
  }
  const [signature, version] = [text("Signature"), text("SignatureVersion")];
  if (typeof signature !== "string" || signature === "") return refuse("SignatureMissing", "the body has no Signature");
  const algorithm = version === "1" || version === "2" ? ALGORITHMS[version] : undefined;
  if (!algorithm) return refuse("SignatureMalformed", "field SignatureVersion of the body is neither 1 nor 2");
  const certificate = certificateRequest(text("SigningCertURL"));
  if ("ok" in certificate) return certificate;
  return {
    topicArn: String(text("TopicArn")),
    timestamp: String(text("Timestamp")),
    messageId: String(text("MessageId")),
    algorithm,
    signature,
    certificate,
    content: Buffer.from(content, "utf8"),
  };
}

/** Name and value of each signed field in lines of their own. */
function canonicalText(body: unknown, names: readonly string[]): string | Refusal {
  const lines: string[] = [];
  for (const name of names) {
    const isOptional = name.endsWith("?");
    const field = isOptional ? name.slice(0, -1) : name;
    const value = valueAt(body, [field]);
    if (isOptional && (value === undefined || value === null)) continue;
    // A line end in any field but Message, which may have some, could be the border to the next.
    const isWhole = typeof value === "string" && isUnicode(value) && (field === "Message" || !/[\r\n]/.test(value));
    // Text that is no Unicode would be replaced, so that several messages had one signature.
    if (!isWhole) {
      return refuse("SignatureMalformed", `field ${field} of the body is missing or no text, and it is signed`);
    }
    lines.push(field, value);
  }
  return `${lines.join("\n")}\n`;
}

function certificateRequest(url: unknown): MaterialRequest | Refusal {
  const [, region, domain] = typeof url === "string" ? (CERTIFICATE_URL.exec(url) ?? []) : [];
  if (typeof url !== "string" || region === undefined || domain === undefined) {
    return refuse(
      "CertificateUntrusted",
      "SigningCertURL is no https URL of a certificate on sns.<region>.amazonaws.com",
    );
  }
  return { kind: "certificate", url, id: url, certificateNames: certificateNames(region, domain) };
}

/** Names on certificates of SNS. Nearly all regions share one; the others are named as AWS SDK for Java's `sns-message-manager` has them. */
function certificateNames(region: string, domain: string): readonly string[] {
  const regional = [`sns.${region}.${domain}`, `sns-signing.${region}.${domain}`, `sns-${region}.${domain}`];
  const shared = domain.endsWith(".cn") ? [] : ["sns.amazonaws.com"];
  return [...shared, ...regional, ...(region.startsWith("us-gov-") ? [`sns-us-gov-west-1.${domain}`] : [])];
}
