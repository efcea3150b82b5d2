import { errors } from "undici";
import { describe, expect, it } from "vitest";
import { errorCode } from "./error-code.ts";

const coded = (code: unknown): Error => Object.assign(new Error("https://user:hunter2@example.com refused"), { code });

describe("errorCode", () => {
  it.each([
    ["ECONNREFUSED", "ECONNREFUSED"],
    ["ENOTFOUND", "ENOTFOUND"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["UND_ERR_SOCKET", "ECONNRESET"],
    ["UND_ERR_CONNECT_TIMEOUT", "connect_timeout"],
    ["UND_ERR_HEADERS_OVERFLOW", "headers_too_large"],
    ["https://user:hunter2@example.com", "unknown"],
    [42, "unknown"],
  ])("makes %s into %s", (code, expected) => {
    expect(errorCode(coded(code))).toBe(expected);
  });

  it("tells an answer that is no HTTP by its class, which carries no code", () => {
    expect(errorCode(new errors.HTTPParserError("x"))).toBe("bad_response");
  });

  it("knows what carries no code", () => {
    expect([errorCode(undefined), errorCode("x"), errorCode(new Error("hunter2"))]).toEqual([
      "unknown",
      "unknown",
      "unknown",
    ]);
  });
});
