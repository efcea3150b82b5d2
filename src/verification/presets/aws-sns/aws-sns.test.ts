import { constants, generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Material } from "../../material.ts";
import { createVerifier } from "../../verifier.ts";
import { NOW, judge, outcome, requestOf, signed, verifierOf, type Route } from "../testing.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const TOPIC = "arn:aws:sns:us-east-1:123456789012:MyTopic";
const CERT = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";
const MESSAGE = {
  Type: "Notification",
  MessageId: "da41e39f-ea4d-435a-b922-c6aae3915ebe",
  TopicArn: TOPIC,
  Subject: "subject",
  Message: 'line 1\nline 2 "ä"',
  Timestamp: "2024-06-10T06:13:20.000Z",
  SignatureVersion: "2",
  SigningCertURL: CERT,
};
const NOTIFICATION = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
const SUBSCRIPTION = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];

/** Signs as AWS's document says: names and values of the fields in lines, a field that is not there left out. */
function message(changes: object = {}, fields = NOTIFICATION, algorithm = "RSA-SHA256"): Record<string, unknown> {
  const made: Record<string, unknown> = { ...MESSAGE, ...changes };
  const text = fields
    .filter((name) => made[name] !== undefined)
    .map((name) => `${name}\n${String(made[name])}\n`)
    .join("");
  return { ...made, Signature: sign(algorithm, Buffer.from(text), privateKey).toString("base64") };
}

function material(changes: Partial<Material> = {}): Material {
  return { id: CERT, publicKey, ...changes };
}

function route(changes: Route = {}): Route {
  return { parameters: { topicArn: TOPIC }, material: material(), ...changes };
}

function verdictOf(made: object, changes: Route = {}): string {
  return outcome("aws-sns", { body: JSON.stringify(made) }, route(changes));
}

function needs(made: unknown, headers: Readonly<Record<string, string>> = {}) {
  const body = typeof made === "string" ? made : JSON.stringify(made);
  return verifierOf("aws-sns", route()).needs?.(requestOf({ body, headers }));
}

describe("aws-sns", () => {
  it.each([
    ["version 2", message()],
    ["version 1", message({ SignatureVersion: "1" }, NOTIFICATION, "RSA-SHA1")],
    ["no subject", message({ Subject: undefined })],
    ["a subject that is null", { ...message({ Subject: undefined }), Subject: null }],
    ["attributes, which are not signed", { ...message(), MessageAttributes: { a: { Type: "String", Value: "b" } } }],
    [
      "a confirmation",
      message(
        { Type: "SubscriptionConfirmation", Subject: undefined, Token: "t", SubscribeURL: "https://x.example" },
        SUBSCRIPTION,
      ),
    ],
    [
      "an end",
      message(
        { Type: "UnsubscribeConfirmation", Subject: undefined, Token: "t", SubscribeURL: "https://x.example" },
        SUBSCRIPTION,
      ),
    ],
  ])("accepts %s", (_what, made) => {
    expect(verdictOf(made)).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "another message", { ...message(), Message: "x" }],
    ["SignatureMismatch", "a subject that was added", { ...message({ Subject: undefined }), Subject: "x" }],
    ["SignatureMismatch", "version 1 of a signature of version 2", { ...message(), SignatureVersion: "1" }],
    [
      "SignatureMismatch",
      "version 2 of a signature of version 1",
      { ...message({}, NOTIFICATION, "RSA-SHA1"), SignatureVersion: "2" },
    ],
    [
      "SignatureMismatch",
      "a notification that was made a confirmation",
      { ...message(), Type: "SubscriptionConfirmation", Token: "t", SubscribeURL: "u" },
    ],
    ["SignatureMalformed", "a version that is unknown", { ...message(), SignatureVersion: "3" }],
    ["SignatureMalformed", "a version that is a number", { ...message(), SignatureVersion: 2 }],
    ["SignatureMalformed", "a type that is unknown", message({ Type: "constructor" })],
    ["SignatureMalformed", "a field that is no text", { ...message(), Message: ["x"] }],
    ["SignatureMalformed", "half of a surrogate pair", { ...message({ Message: "\ufffd" }), Message: "\ud800" }],
    [
      "SignatureMalformed",
      "a confirmation without a token",
      { ...message(), Type: "SubscriptionConfirmation", SubscribeURL: "u" },
    ],
    ["SignatureMalformed", "a signature that is no base64", { ...message(), Signature: "*" }],
    ["SignatureMissing", "no signature", { ...message(), Signature: undefined }],
    ["SenderMismatch", "another topic, validly signed", message({ TopicArn: `${TOPIC}2` })],
    ["TimestampMalformed", "a timestamp that is none", message({ Timestamp: "yesterday" })],
  ])("refuses with %s %s", (reason, _what, made) => {
    expect(verdictOf(made)).toBe(reason);
  });

  it.each([
    "https://sns.us-east-1.amazonaws.com.evil.example/x.pem",
    "https://evil.example/sns.us-east-1.amazonaws.com/x.pem",
    "https://evil.example?sns.us-east-1.amazonaws.com/x.pem",
    "https://sns.us-east-1.amazonaws.com@evil.example/x.pem",
    "https://user@sns.us-east-1.amazonaws.com/x.pem",
    "https://xsns.us-east-1.amazonaws.com/x.pem",
    "https://sns.us-east-1xamazonaws.com/x.pem",
    "https://sns.s3.amazonaws.com/x.pem",
    "https://sns.s3-us-west-2.amazonaws.com/x.pem",
    "https://sns.evil.amazonaws.com/x.pem",
    "https://sns.us-east-1.amazonaws.com:8443/x.pem",
    "https://sns.us-east-1.amazonaws.com/x.pem?Action=x",
    "https://sns.us-east-1.amazonaws.com/?x=.pem",
    "https://sns.us-east-1.amazonaws.com/a/x.pem",
    "https://sns.us-east-1.amazonaws.com/x.pem\n",
    "https://sns.us-east-1.amazonaws.com/x.crt",
    "http://sns.us-east-1.amazonaws.com/x.pem",
    "HTTPS://SNS.US-EAST-1.AMAZONAWS.COM/x.pem",
    "",
    7,
  ])("never asks for a certificate at %j", (SigningCertURL) => {
    expect(needs({ ...message(), SigningCertURL })).toMatchObject({ ok: false, reason: "CertificateUntrusted" });
    expect(verdictOf({ ...message(), SigningCertURL }, { material: material({ id: String(SigningCertURL) }) })).toBe(
      "CertificateUntrusted",
    );
  });

  it.each([
    ["us-east-1", "amazonaws.com", ["sns.amazonaws.com", "sns.us-east-1.amazonaws.com"]],
    ["af-south-1", "amazonaws.com", ["sns.amazonaws.com", "sns-signing.af-south-1.amazonaws.com"]],
    ["us-gov-east-1", "amazonaws.com", ["sns-us-gov-west-1.amazonaws.com"]],
    ["cn-north-1", "amazonaws.com.cn", ["sns-cn-north-1.amazonaws.com.cn"]],
  ])("asks for the certificate of %s and says whose it must be", (region, domain, names) => {
    const url = `https://sns.${region}.${domain}/SimpleNotificationService-0a.pem`;
    expect(needs(message({ SigningCertURL: url }))).toMatchObject({
      kind: "certificate",
      url,
      id: url,
      certificateNames: expect.arrayContaining(names),
    });
  });

  it("lets no name of other partitions sign for China", () => {
    const url = "https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-0a.pem";
    expect(needs(message({ SigningCertURL: url }))).toMatchObject({
      certificateNames: [
        "sns.cn-north-1.amazonaws.com.cn",
        "sns-signing.cn-north-1.amazonaws.com.cn",
        "sns-cn-north-1.amazonaws.com.cn",
      ],
    });
  });

  it("asks for nothing for a message of another topic", () => {
    expect(needs(message({ TopicArn: `${TOPIC}2` }))).toMatchObject({ ok: false, reason: "SenderMismatch" });
  });

  it("says that raw delivery is on when it is", () => {
    const raw = { "x-amz-sns-rawdelivery": "true" };
    for (const refused of [
      needs(message(), raw),
      needs("plain text"),
      needs({ a: 1 }),
      needs('{"__proto__":{"Type":"Notification"}}'),
    ]) {
      expect(refused).toMatchObject({
        ok: false,
        reason: "SignatureMissing",
        detail: expect.stringContaining("RawMessageDelivery"),
      });
    }
  });

  it("believes no certificate but the one that was asked for, in its time, with a key of its kind", () => {
    const { publicKey: other } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const { publicKey: elliptic } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    expect(outcome("aws-sns", { body: JSON.stringify(message()) }, { parameters: { topicArn: TOPIC } })).toBe(
      "MaterialUnavailable",
    );
    expect(verdictOf(message(), { material: material({ id: `${CERT}x` }) })).toBe("MaterialUnavailable");
    expect(verdictOf(message(), { material: material({ publicKey: other }) })).toBe("SignatureMismatch");
    expect(verdictOf(message(), { material: material({ publicKey: elliptic }) })).toBe("CertificateUntrusted");
    expect(verdictOf(message(), { material: material({ notBefore: NOW + 1 }) })).toBe("CertificateUntrusted");
    expect(verdictOf(message(), { material: material({ notAfter: NOW - 1 }) })).toBe("CertificateUntrusted");
    expect(verdictOf(message(), { material: material({ notBefore: NOW, notAfter: NOW }) })).toBe("accepted");
  });

  it("takes PKCS #1 only, not PSS", () => {
    const made = message();
    const text = NOTIFICATION.map((name) => `${name}\n${String(made[name])}\n`).join("");
    const pss = sign("RSA-SHA256", Buffer.from(text), { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING });
    expect(verdictOf({ ...made, Signature: pss.toString("base64") })).toBe("SignatureMismatch");
  });

  it("refuses fields that were cut in another place", () => {
    const made = message({ Message: '{"amount":1}\nMessageId\nforged-id' });
    expect(verdictOf(made)).toBe("accepted");
    const cut = { ...made, Message: '{"amount":1}', MessageId: `forged-id\nMessageId\n${String(made["MessageId"])}` };
    expect(verdictOf(cut)).toBe("SignatureMalformed");
    expect(verdictOf(message({ Subject: "a\nb" }))).toBe("SignatureMalformed");
    for (const MessageId of ["a b", "", "a".repeat(101)]) {
      expect(verdictOf(message({ MessageId }))).toBe("SignatureMalformed");
    }
  });

  it("lets messages be late unless the route says how late", () => {
    const late = { now: NOW + 3_600_000 };
    expect(verdictOf(message(), late)).toBe("accepted");
    expect(verdictOf(message(), { ...late, toleranceMs: 60_000 })).toBe("TimestampExpired");
    expect(judge("aws-sns", { body: JSON.stringify(message()) }, route())).toMatchObject({
      deliveryId: MESSAGE.MessageId,
      signedAt: NOW,
    });
  });

  it("cannot be imitated, and needs the topic", () => {
    expect(() => signed("aws-sns", { body: "{}" }, route())).toThrow(
      expect.objectContaining({ code: "CannotSign", message: expect.stringContaining("only AWS") }),
    );
    expect(() => createVerifier({ type: "provider", provider: "aws-sns" })).toThrow(
      expect.objectContaining({ code: "ParameterMissing" }),
    );
  });
});
