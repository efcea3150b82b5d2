import { expect, test } from "vitest";
import { connectionError } from "./connection-error.ts";
import { KubeApiError, retryAfterOf, type ApiAnswer } from "./errors.ts";
import { NotLeaderError } from "./fence.ts";

const request = { verb: "update", resource: "deployments.apps", namespace: "shop", name: "a" };
const error = (answer: Partial<ApiAnswer>) => new KubeApiError({ status: 500, body: undefined, request, ...answer });

test.each([
  [400, undefined, "Invalid"],
  [401, undefined, "Unauthorized"],
  [403, "Forbidden", "Forbidden"],
  [404, "NotFound", "NotFound"],
  [409, "Conflict", "Conflict"],
  [409, "AlreadyExists", "AlreadyExists"],
  [410, "Expired", "Gone"],
  [410, "Gone", "Gone"],
  [415, undefined, "Unsupported"],
  [422, "Invalid", "Invalid"],
  [429, "TooManyRequests", "TooManyRequests"],
  [500, "ServerTimeout", "Timeout"],
  [503, "ServiceUnavailable", "Unavailable"],
  [504, "Timeout", "Timeout"],
  [418, undefined, "Unknown"],
] as const)("%i %s is %s", (status, reason, code) => {
  expect(error({ status, body: reason === undefined ? undefined : { reason } }).code).toBe(code);
});

test("a message is 300 characters at most and says what was asked for", () => {
  const { message } = error({ status: 409, body: { reason: "Conflict", message: "x".repeat(5_000) } });
  expect(message).toHaveLength(300);
  expect(message).toMatch(/^update deployments.apps in shop a: 409 Conflict: xxx/);
});

test("of an object that is refused, the message has the fields and not their values", () => {
  const causes = [{ reason: "FieldValueInvalid", field: "data[password]" }];
  const body = { reason: "Invalid", message: 'data[password]: Invalid value: "hunter2"', details: { causes } };
  const { message } = error({ status: 422, body });
  expect(message).toContain("data[password] FieldValueInvalid");
  expect(message).not.toContain("hunter2");
});

test.each([400, 500])(
  "of a Secret that was not understood (%i), nothing is repeated; of other kinds it is",
  (status) => {
    const body = { reason: "BadRequest", message: 'cannot decode "hunter2"' };
    const secret = { ...request, resource: "secrets" };
    expect(error({ status, body, request: secret }).message).not.toContain("hunter2");
    expect(error({ status, body }).message).toContain("cannot decode");
  },
);

test("a kind that is not served asks for its CRD; an object that is missing does not", () => {
  expect(error({ status: 404 }).message).toContain("is its CustomResourceDefinition installed");
  expect(error({ status: 404, body: { reason: "NotFound" } }).message).not.toContain("CustomResourceDefinition");
});

test("a patch for another uid is a Conflict, any other invalid field is not", () => {
  const invalid = (field: string) => error({ status: 422, body: { details: { causes: [{ field }] } } }).code;
  expect([invalid("metadata.uid"), invalid("spec.replicas")]).toEqual(["Conflict", "Invalid"]);
});

test("the time to wait comes from the header, else from the body", () => {
  const body = { details: { retryAfterSeconds: 3 } };
  expect(retryAfterOf(error({ status: 429, body }))).toBe(3_000);
  expect(retryAfterOf(error({ status: 429, body, retryAfterMs: 7_000 }))).toBe(7_000);
  expect(retryAfterOf(error({ status: 429 }))).toBe(0);
  expect(retryAfterOf(new Error("x"))).toBe(0);
});

const coded = (code: string) => Object.assign(new Error(`details ${code}`), { code });

test.each([
  ["ECONNREFUSED", "Unreachable"],
  ["ENOTFOUND", "Unreachable"],
  ["UND_ERR_SOCKET", "Unreachable"],
  ["UND_ERR_CONNECT_TIMEOUT", "Timeout"],
  ["UND_ERR_BODY_TIMEOUT", "Timeout"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "Certificate"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "Certificate"],
  ["CERT_HAS_EXPIRED", "Certificate"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "Certificate"],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "Certificate"],
])("%s is %s, and the message names the server and what to look at", (code, expected) => {
  const failure = connectionError(coded(code), "https://10.0.0.1:443");
  expect(failure).toMatchObject({ code: expected, message: expect.stringContaining("https://10.0.0.1:443") });
  expect(String(failure)).toContain(code);
});

test("an answer that is no JSON keeps nothing of it, not even as cause", () => {
  const failure = connectionError(new SyntaxError('Unexpected token "hunter2"'), "https://x");
  expect(failure).toMatchObject({ code: "BrokenAnswer" });
  expect(failure).not.toHaveProperty("cause");
  expect(String(failure)).not.toContain("hunter2");
});

test("the caller's own reason and our own errors pass as they are", () => {
  const reason = new Error("enough");
  expect(connectionError(coded("UND_ERR_ABORTED"), "https://x", AbortSignal.abort(reason))).toBe(reason);
  const own = new NotLeaderError("no");
  expect(connectionError(own, "https://x")).toBe(own);
});
