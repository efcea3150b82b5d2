import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { judgeCase, type SignatureCase } from "./vectors.ts";

type Vector = SignatureCase & { readonly policy: string; readonly valid: boolean; readonly note?: string };

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/signatures.json", import.meta.url), "utf8"),
) as Vector[];

describe("published and derived signature vectors", () => {
  it("has cases of every scheme", () => {
    const schemes = vectors.map((vector) => vector.scheme);
    expect(schemes).toEqual(
      expect.arrayContaining(["github-sha256", "standard-webhooks-v1", "standard-webhooks-v1a", "stripe-v1"]),
    );
  });

  it.each(
    vectors.map((vector) => [vector.id, vector.valid ? "accepts" : "refuses", vector.note ?? "", vector] as const),
  )("%s: %s %s", (_id, _says, _note, vector) => {
    const result = judgeCase(vector);
    expect("verdict" in result && result.verdict.ok).toBe(vector.valid);
  });

  it("says that it does not know a scheme instead of judging it", () => {
    expect(judgeCase({ ...(vectors[0] as Vector), scheme: "rot13" })).toEqual({
      unsupported: "scheme rot13 not supported",
    });
  });
});
