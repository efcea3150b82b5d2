import type { Vector } from "../../support/vectors.ts";

/** A change of a vector: what was done, and the fields that differ. */
export interface Mutation {
  readonly what: string;
  readonly changes: Partial<Vector>;
}

/** A text in place of another: what was done, and the text. */
export type TextChange = readonly [what: string, text: string];

/** Integers in [0, below), the same ones on every run. */
export type Random = (below: number) => number;

/** A small generator (mulberry32). The seed is a text, so that each vector has its own and a new vector changes no other. */
export function seeded(text: string): Random {
  let state = Buffer.from(text).reduce((hash, byte) => Math.imul(hash ^ byte, 16_777_619), 7);
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** The first, the last, the middle and `more` other places of something this long, each once. */
export function places(length: number, more: number, random: Random): readonly number[] {
  if (length === 0) return [];
  const picked = Array.from({ length: more }, () => random(length));
  return [...new Set([0, length - 1, length >> 1, ...picked])];
}
