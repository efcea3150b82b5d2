import { describe, expect, it } from "vitest";
import type { QueryTokenConfig } from "../config.ts";
import { signedRequest } from "../testing.ts";
import { keysOf, plainRequest } from "../vectors.ts";
import { verifierOf } from "../verifier.ts";

const NOW = 1_760_000_000_000;
const SCHEME: QueryTokenConfig = { type: "query-token", parameter: "token" };

function answer(path: string, secrets: readonly string[] = ["a secret+/é"]): string {
  const request = plainRequest({
    method: "POST",
    url: "https://hooks.example/in",
    path,
    headers: {},
    body: Buffer.alloc(0),
  });
  const verdict = verifierOf(SCHEME).verify(request, keysOf(secrets), NOW);
  return verdict.ok ? "ok" : `${verdict.status} ${verdict.reason}`;
}

describe("a token in the query", () => {
  it.each([
    ["/in?token=a%20secret%2B%2F%C3%A9", "ok"],
    ["/in?x=1&token=a+secret%2B/%c3%a9&y=2", "ok"],
    ["/in", "400 SignatureMissing"],
    ["/in?", "400 SignatureMissing"],
    ["/in?token", "400 SignatureMissing"],
    ["/in?token=", "400 SignatureMissing"],
    ["/in?Token=a%20secret%2B%2F%C3%A9", "400 SignatureMissing"],
    ["/in?token=wrong", "401 TokenMismatch"],
    ["/in?token=%ff%zz", "401 TokenMismatch"],
    ["/in?token=a%20secret%2B%2F%C3%A9&token=a%20secret%2B%2F%C3%A9", "401 SignatureMalformed"],
    ["/in?token=&token=a%20secret%2B%2F%C3%A9", "401 SignatureMalformed"],
  ])("%s: %s", (path, expected) => {
    expect(answer(path)).toBe(expected);
  });

  it("needs a key", () => {
    expect(answer("/in?token=", [""])).toBe("503 NoUsableKey");
  });

  it("is what the scheme sends, beside what the query holds already", () => {
    const input = {
      method: "POST",
      url: "https://hooks.example/in?a=1",
      path: "/in?a=1",
      body: Buffer.alloc(0),
      id: "1",
    };
    const keys = keysOf(["a secret+/é"]);
    const signed = verifierOf(SCHEME).sign(input, keys, NOW);
    expect(signed.query).toBe("?a=1&token=a+secret%2B%2F%C3%A9");
    const request = signedRequest(input, signed);
    expect(request.url).toBe("https://hooks.example/in?a=1&token=a+secret%2B%2F%C3%A9");
    expect(verifierOf(SCHEME).verify(request, keys, NOW)).toMatchObject({ ok: true });
  });
});
