import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { judgeWithReference } from "../support/python-reference.ts";
import { vectors } from "../support/vectors.ts";

describe("the verifier in Python", () => {
  it("agrees with every vector", async () => {
    const judged = await judgeWithReference(vectors);
    const wrong = vectors.filter(({ valid }, index) => judged[index] !== valid).map(({ id }) => id);
    expect(wrong).toEqual([]);
  });

  it("needs the standard library only", () => {
    const folder = fileURLToPath(new URL("reference/", import.meta.url));
    // -S and -I leave out everything that is installed beside it.
    const program = `import sys; sys.path.insert(0, ${JSON.stringify(folder)}); import verify; print(len(verify.SCHEMES))`;
    const printed = execFileSync(process.env["PYTHON_BIN"] ?? "python3", ["-B", "-S", "-I", "-c", program]);
    expect(Number(printed.toString())).toBe(60);
  });
});
