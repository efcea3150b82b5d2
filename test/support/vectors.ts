import { readFileSync } from "node:fs";
import type { SignatureCase } from "../../src/verification/vectors.ts";

/** A vector: a case, what must come of it, and where it is from. */
export interface Vector extends SignatureCase {
  readonly provider: string;
  /** `must`: every correct implementation agrees. `strict`: refusing is what Davit does. `lenient`: accepting is what Davit does. */
  readonly policy: "must" | "strict" | "lenient";
  readonly valid: boolean;
  readonly note?: string;
}

/** The published and derived signatures of `test/vectors/`. */
export const vectors = JSON.parse(
  readFileSync(new URL("../vectors/signatures.json", import.meta.url), "utf8"),
) as readonly Vector[];
