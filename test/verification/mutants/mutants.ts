import type { Vector } from "../../support/vectors.ts";
import { bodyMutations } from "./bodies.ts";
import { forgeries } from "./forgeries.ts";
import { headerMutations } from "./headers.ts";
import { certificateMutations } from "./hosts.ts";
import { keyMutations } from "./keys.ts";
import { leafMutations } from "./leaves.ts";
import { seeded } from "./mutation.ts";
import { clockMutations, methodMutations, urlMutations } from "./requests.ts";
import { tokenMutations } from "./tokens.ts";

/** A valid vector with one change. Whether it is still valid is not known beforehand. */
export interface Mutant extends Vector {
  /** The vector it comes from. */
  readonly of: string;
  readonly what: string;
}

/** Every mutant of a vector, the same ones on every run. Ids are `<vector>/<number>`. */
export function mutantsOf(vector: Vector): readonly Mutant[] {
  const random = seeded(vector.id);
  const mutations = [
    ...bodyMutations(vector, random),
    ...leafMutations(vector, random),
    ...headerMutations(vector, random),
    ...tokenMutations(vector),
    ...certificateMutations(vector),
    ...keyMutations(vector, random),
    ...forgeries(vector),
    ...urlMutations(vector),
    ...methodMutations(vector),
    ...clockMutations(vector),
  ];
  return mutations.map(({ what, changes }, index) => ({
    ...vector,
    ...changes,
    id: `${vector.id}/${index}`,
    of: vector.id,
    what,
  }));
}
