import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { judgeWithReference, runPython } from "../support/python-reference.ts";
import { vectors } from "../support/vectors.ts";

describe("the verifier in Python", () => {
  it("agrees with every vector", async () => {
    const judged = await judgeWithReference(vectors);
    const wrong = vectors.filter(({ valid }, index) => judged[index] !== valid).map(({ id }) => id);
    expect(wrong).toEqual([]);
  });

  it("needs the standard library only", async () => {
    const folder = fileURLToPath(new URL("reference/", import.meta.url));
    // -S and -I leave out everything that is installed beside it.
    const program = `import sys; sys.path.insert(0, ${JSON.stringify(folder)}); import verify; print(len(verify.SCHEMES))`;
    const schemes = new Set(vectors.map(({ scheme }) => scheme)).size;
    expect(Number(await runPython(["-B", "-S", "-I", "-c", program]))).toBe(schemes);
  });

  it("says what to install where there is no Python", async () => {
    await expect(judgeWithReference([], "no-such-python")).rejects.toThrow("install Python 3.9 or later");
  });
});
