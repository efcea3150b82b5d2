import { fieldOf } from "../lib/record.ts";
import { type Problem, joinPath } from "./problem.ts";

/** A field whose function is not built yet. */
interface Gap {
  /** Steps from the object's root; `*` is any element of a list. */
  readonly path: readonly string[];
  readonly remedy: string;
}

/**
 * What the kinds promise and this version does not do. Such a field is refused rather than ignored. Whoever builds the function removes the line;
 * at the end none is left.
 */
const GAPS: readonly Gap[] = [{ path: ["spec", "destinations", "*", "cleanup"], remedy: "use url or serviceRef" }];

/** Problems for all fields of an object that ask for something not built yet. */
export function checkImplemented(object: unknown): Problem[] {
  return GAPS.flatMap(({ path, remedy }) =>
    find(object, path, "").map((at) => ({
      path: at,
      message: "this field is not implemented yet",
      remedy,
      source: "notImplemented" as const,
      severity: "error" as const,
    })),
  );
}

/** Where the field is set. */
function find(value: unknown, [step, ...rest]: readonly string[], at: string): string[] {
  if (value === undefined || value === null) return [];
  if (step === undefined) return [at];
  if (step === "*") {
    return Array.isArray(value) ? value.flatMap((item, index) => find(item, rest, joinPath(at, index))) : [];
  }
  return find(fieldOf(value, step), rest, joinPath(at, step));
}
