import { S3ServiceException } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { codeOfAnswer, storeError } from "./errors.ts";

const answer = (name: string, httpStatusCode: number) =>
  new S3ServiceException({ name, $fault: "client", message: "SECRET", $metadata: { httpStatusCode } });
const network = (code: string) => Object.assign(new Error("SECRET"), { code });

test.for([
  [answer("InvalidAccessKeyId", 403), "InvalidCredentials", false],
  [answer("SignatureDoesNotMatch", 403), "InvalidCredentials", false],
  [answer("ExpiredToken", 400), "InvalidCredentials", false],
  [answer("RequestTimeTooSkewed", 403), "ClockSkew", false],
  [answer("NoSuchBucket", 404), "BucketNotFound", false],
  [answer("NoSuchVersion", 404), "NoSuchKey", false],
  [answer("AccessDenied", 403), "AccessDenied", false],
  [answer("UnknownError", 403), "AccessDenied", false],
  [answer("403", 403), "AccessDenied", false],
  [answer("SlowDown", 200), "SlowDown", true],
  [answer("UnknownError", 503), "SlowDown", true],
  [answer("InternalError", 200), "StoreUnavailable", true],
  [answer("UnknownError", 502), "StoreUnavailable", true],
  [answer("UnknownError", 301), "RefusedByStore", false],
  [answer("MalformedXML", 400), "RefusedByStore", false],
  [network("ECONNREFUSED"), "Unreachable", true],
  [network("EAI_AGAIN"), "Unreachable", true],
  [network("ECONNRESET"), "Unreachable", true],
  [network("ETIMEDOUT"), "Timeout", true],
  [Object.assign(new Error("SECRET"), { name: "TimeoutError" }), "Timeout", true],
  [network("SELF_SIGNED_CERT_IN_CHAIN"), "TLSFailed", true],
  [network("ERR_TLS_CERT_ALTNAME_INVALID"), "TLSFailed", true],
  [network("EPROTO"), "TLSFailed", true],
  [network("HPE_INVALID_CONSTANT"), "InvalidAnswer", true],
  [Object.assign(new Error("SECRET"), { name: "AbortError" }), "Aborted", true],
  [Object.assign(new Error("SECRET"), { name: "CredentialsProviderError" }), "InvalidCredentials", true],
  [new SyntaxError("SECRET"), "InvalidAnswer", true],
  ["SECRET", "InvalidAnswer", true],
] as const)("%s becomes %s, to be tried again: %s", ([error, code, retryable]) => {
  const made = storeError(error, "HeadObject");
  expect(made).toMatchObject({ name: "StoreError", code, retryable });
  expect(made.message).toMatch(/^HeadObject: /);
  expect(made.message).not.toContain("SECRET");
  expect(made.cause).toBeUndefined();
});

test("the message names the code and the status of the answer, and no text that the store chose", () => {
  expect(storeError(answer("NoSuchBucket", 404), 'ListObjectVersions of bucket "b"').message).toBe(
    'ListObjectVersions of bucket "b": there is no such bucket (NoSuchBucket, HTTP 404)',
  );
  expect(storeError(answer("a b\nc", 400), "x").message).toBe("x: the store refused it (HTTP 400)");
  expect(codeOfAnswer(answer("UnknownError", 403))).toBeUndefined();
});
