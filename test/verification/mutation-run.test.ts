import { beforeAll, describe, expect, it } from "vitest";
import { judgeCase, type SignatureCase } from "../../src/verification/vectors.ts";
import { judgeWithReference } from "../support/python-reference.ts";
import { vectors } from "../support/vectors.ts";
import { mutantsOf, type Mutant } from "./mutants/mutants.ts";

function accepts(testCase: SignatureCase): boolean {
  const result = judgeCase(testCase);
  return "verdict" in result && result.verdict.ok;
}

const valid = vectors.filter((vector) => vector.valid);

describe("every valid vector, changed in every way somebody or something may change it", () => {
  let byVector: { readonly id: string; readonly mutants: readonly Mutant[]; readonly verdicts: readonly boolean[] }[];
  beforeAll(() => {
    byVector = valid.map((vector) => {
      const mutants = mutantsOf(vector);
      return { id: vector.id, mutants, verdicts: mutants.map(accepts) };
    });
  });

  it("is accepted or refused as the verifier in Python does", async () => {
    const mutants = byVector.flatMap((one) => one.mutants);
    const verdicts = byVector.flatMap((one) => one.verdicts);
    const reference = await judgeWithReference(mutants);
    report(mutants, verdicts);
    const disputed = mutants
      .map((mutant, index) => ({ mutant, davit: verdicts[index], python: reference[index] }))
      .filter(({ davit, python }) => davit !== python)
      .map(({ mutant, davit }) => `${mutant.scheme} ${mutant.id} ${davit ? "accepted" : "refused"}: ${mutant.what}`);
    expect(disputed).toEqual([]);
    expect(mutants.length).toBeGreaterThan(10_000);
  });

  it("has changes that matter and changes that do not, for each of them", () => {
    const oneSided = byVector.filter(({ verdicts }) => {
      const refused = verdicts.filter((isAccepted) => !isAccepted).length;
      return refused < verdicts.length / 4 || refused === verdicts.length;
    });
    expect(oneSided.map(({ id }) => id)).toEqual([]);
  });
});

function report(mutants: readonly Mutant[], verdicts: readonly boolean[]): void {
  const accepted = verdicts.filter(Boolean).length;
  const schemes = new Set(mutants.map(({ scheme }) => scheme)).size;
  process.stdout.write(
    `${mutants.length} mutants of ${valid.length} vectors and ${schemes} schemes: ${accepted} accepted, ${mutants.length - accepted} refused\n`,
  );
}
