import type { Secret } from "../lib/secret.ts";
import type { VerificationKey } from "./types.ts";

/** A key of the ring together with what a scheme made of its secret. */
export interface PreparedKey<T> {
  readonly key: VerificationKey;
  readonly material: T;
}

/** The prepared keys of a ring. */
export type KeyRing<T> = (keys: readonly VerificationKey[]) => readonly PreparedKey<T>[];

/**
 * Prepares the keys of a ring once: a ring is an immutable array, so the last one is remembered. Keys without usable material (empty, blank,
 * not decodable) are left out: an HMAC with an empty key is one that anybody can compute.
 */
export function keyRingCache<T>(prepare: (secret: Secret) => T | undefined): KeyRing<T> {
  let lastRing: readonly VerificationKey[] | undefined;
  let prepared: readonly PreparedKey<T>[] = [];
  return (keys) => {
    if (keys === lastRing) return prepared;
    prepared = keys.flatMap((key) => {
      const material = key.secret.isBlank ? undefined : prepare(key.secret);
      return material === undefined ? [] : [{ key, material }];
    });
    lastRing = keys;
    return prepared;
  };
}

/** Keys that the clock allows. The same array when all are, which is the usual case. */
export function usableAt<T>(keys: readonly PreparedKey<T>[], now: number): readonly PreparedKey<T>[] {
  return keys.every((entry) => isUsable(entry, now)) ? keys : keys.filter((entry) => isUsable(entry, now));
}

function isUsable<T>({ key }: PreparedKey<T>, now: number): boolean {
  return key.notAfter === undefined || now <= key.notAfter;
}

/** The keys that bear the id a sender named; all of them when none does, since an unknown id must not lock a sender out. */
export function selectById<T>(keys: readonly PreparedKey<T>[], id: string | undefined): readonly PreparedKey<T>[] {
  if (id === undefined) return keys;
  const named = keys.filter(({ key }) => key.keyId === id);
  return named.length > 0 ? named : keys;
}
