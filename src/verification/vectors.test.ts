import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { judgeCase, type SignatureCase } from "./vectors.ts";

type Vector = SignatureCase & { readonly policy: string; readonly valid: boolean; readonly note?: string };

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/signatures.json", import.meta.url), "utf8"),
) as Vector[];

function vector(id: string): Vector {
  const found = vectors.find((one) => one.id === id);
  if (!found) throw new Error(`no vector ${id}`);
  return found;
}

function valid(testCase: SignatureCase): boolean | string {
  const result = judgeCase(testCase);
  return "verdict" in result ? result.verdict.ok : result.unsupported;
}

describe("published and derived signature vectors", () => {
  it("has cases of 60 schemes", () => {
    expect(new Set(vectors.map(({ scheme }) => scheme)).size).toBe(60);
  });

  it.each(vectors.map((one) => [one.id, one.valid ? "accepts" : "refuses", one.note ?? "", one] as const))(
    "%s: %s %s",
    (_id, _says, _note, one) => {
      expect(valid(one)).toBe(one.valid);
    },
  );
});

describe("judging a case", () => {
  it("says that it does not know a scheme instead of judging it", () => {
    expect(judgeCase({ ...vector("github-02"), provider: "morse", scheme: "rot13" })).toEqual({
      unsupported: "scheme rot13 not supported",
    });
  });

  it("judges a scheme it has no name for by the preset of its provider, or the one that is named so", () => {
    const official = vector("github-01");
    expect(valid({ ...official, scheme: "github-v7" })).toBe(true);
    expect(valid({ ...official, provider: "git-hub", scheme: "github" })).toBe(true);
  });

  it("checks no time without a clock, and takes a given tolerance", () => {
    const { now: _now, ...timeless } = vector("stripe-01");
    expect(valid(timeless)).toBe(true);
    expect(valid({ ...vector("stripe-01"), now: 1_700_000_011, toleranceSec: 10 })).toBe(false);
    expect(valid({ ...vector("stripe-01"), now: 1_700_000_010, toleranceSec: 10 })).toBe(true);
  });

  it("decodes a secret in hex or base64 where the preset does not read it so itself", () => {
    const official = vector("github-01");
    const secret = Buffer.from("It's a Secret to Everybody");
    expect(valid({ ...official, secret: secret.toString("hex"), secretEncoding: "hex" })).toBe(true);
    expect(valid({ ...official, secret: secret.toString("base64"), secretEncoding: "base64" })).toBe(true);
    expect(valid({ ...official, secretEncoding: "as shown in the settings" })).toBe(true);
  });

  it("accepts nothing with settings of which no route can be made", () => {
    const sns = vectors.find(({ scheme, valid: isValid }) => scheme === "sns-v2" && isValid);
    expect(judgeCase({ ...vector(sns?.id ?? ""), secret: "no ARN" })).toMatchObject({ verdict: { ok: false } });
    expect(judgeCase({ ...vector(sns?.id ?? ""), extra: { certPem: "no PEM" } })).toMatchObject({
      verdict: { ok: false, reason: "MaterialUnavailable" },
    });
    expect(judgeCase({ ...vector("plaid-01"), secret: "no JSON" })).toMatchObject({
      verdict: { ok: false, reason: "MaterialUnavailable" },
    });
  });

  it("never throws, whatever a case holds", () => {
    for (const one of vectors) {
      for (const changes of [{ secret: null }, { headers: null }, { bodyBase64: 7 }, { extra: null }, { url: 1 }, {}]) {
        const broken = { ...one, ...changes, secretEncoding: "rot13" } as unknown as SignatureCase;
        expect(() => judgeCase(broken)).not.toThrow();
      }
    }
  });
});
