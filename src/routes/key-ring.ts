import { createHmac } from "node:crypto";
import type { KeyState, KeyUse } from "../verification/types.ts";
import type { RingKey } from "./entry.ts";

/** Most keys of one use that a ring may hold. */
export const MAX_RING_KEYS = 5;

/** In this order they stand in a ring. What is for one use never takes the place of another's, and is never taken for it. */
const USES: readonly KeyUse[] = ["Signing", "VerifyToken", "ApiCredential"];

/** A key as the manifests have it now. Values have lost their line end already, and are not empty. */
export interface ObservedKey {
  readonly value: Buffer;
  readonly use: RingKey["use"];
  /** `current`: first of its use. `previous`: listed after it. `next`: accepted in advance. */
  readonly state: KeyState;
  readonly keyId?: string;
  /** Unix ms, from `secretRefs[].notAfter`. */
  readonly notAfter?: number;
}

export interface RingOptions {
  readonly overlapMs: number;
  /** Unix ms. */
  readonly now: number;
  /** A random key of the release: makes ids that cannot be guessed from a value. */
  readonly releaseKey: Buffer;
}

export interface RingChange {
  /** Signing keys first; of each use current first, then next, then previous with the newest first. At most {@link MAX_RING_KEYS} of a use. */
  readonly keys: readonly RingKey[];
  /** Unix ms at which the last previous signing key ends. Absent: no rotation is in progress. */
  readonly overlapEndsAt?: number;
  /** Unix ms at which the ring must be looked at again. */
  readonly nextChangeAt?: number;
  /** Keys were dropped before their overlap ended, because there were more than {@link MAX_RING_KEYS}. */
  readonly tooManyChanges: boolean;
}

interface Candidate {
  readonly key: RingKey;
  /** Lower is kept first. */
  readonly rank: number;
}

const OBSERVED_RANK: Readonly<Record<KeyState, number>> = { current: 0, next: 1, previous: 2 };
const OVERLAPPING_RANK = 3;

/**
 * Moves a ring on to what the manifests say now. A value that is no longer there becomes `previous` and ends after the overlap; a missing or
 * emptied Secret is a rotation to nothing. A shorter overlap shortens what is left. A key past its `notAfter` is gone for good, unless its
 * value is observed again. Calling it again with the same arguments changes nothing.
 *
 * @param ring what was published last; the previous keys live only there
 * @param observed one per value and use; of equal ones the first counts
 */
export function advanceRing(
  ring: readonly RingKey[],
  observed: readonly ObservedKey[],
  options: RingOptions,
): RingChange {
  const present = new Map<string, Candidate>();
  const known = new Map(ring.map((key) => [identity(key), key]));
  for (const key of observed) {
    const next = observe(key, known, options);
    if (!present.has(identity(next))) present.set(identity(next), { key: next, rank: OBSERVED_RANK[key.state] });
  }
  const departed = ring
    .filter((key) => !present.has(identity(key)))
    .map((key) => ({ key: depart(key, options), rank: OVERLAPPING_RANK }));
  const alive = [...present.values(), ...departed].filter(({ key }) => !isOver(key, options.now)).toSorted(byRank);
  const keys = USES.flatMap((use) => alive.filter(({ key }) => key.use === use).slice(0, MAX_RING_KEYS)).map(
    ({ key }) => key,
  );
  return { keys, ...ends(keys), tooManyChanges: alive.length > keys.length };
}

/** Ends every previous key at once. One that the manifests still list comes back with the next {@link advanceRing}. */
export function revokePrevious(ring: readonly RingKey[]): readonly RingKey[] {
  return ring.filter((key) => key.state !== "previous");
}

/** Removes exactly one trailing LF or CRLF, which editors and `kubectl create --from-file` leave behind. */
export function stripLineEnd(value: Buffer): Buffer {
  if (value.at(-1) !== 0x0a) return value;
  return value.subarray(0, value.at(-2) === 0x0d ? -2 : -1);
}

/** The id of a key: 8 hex digits of HMAC-SHA256(release key, value), safe to show. */
export function keyId(releaseKey: Buffer, value: Buffer): string {
  return createHmac("sha256", releaseKey).update(value).digest("hex").slice(0, 8);
}

function identity(key: Pick<RingKey, "use" | "value">): string {
  return `${key.use} ${key.value}`;
}

function observe(key: ObservedKey, known: ReadonlyMap<string, RingKey>, { now, releaseKey }: RingOptions): RingKey {
  const value = key.value.toString("base64");
  const before = known.get(identity({ use: key.use, value }));
  return {
    id: keyId(releaseKey, key.value),
    ...(key.keyId === undefined ? {} : { keyId: key.keyId }),
    use: key.use,
    state: key.state,
    since: before?.state === key.state ? before.since : now,
    ...(key.notAfter === undefined ? {} : { notAfter: key.notAfter }),
    value,
  };
}

function depart(key: RingKey, { now, overlapMs }: RingOptions): RingKey {
  return {
    ...key,
    state: "previous",
    since: key.state === "previous" ? key.since : now,
    notAfter: Math.min(now + overlapMs, key.notAfter ?? Number.POSITIVE_INFINITY),
  };
}

function isOver(key: RingKey, now: number): boolean {
  return key.notAfter !== undefined && key.notAfter <= now;
}

function byRank(a: Candidate, b: Candidate): number {
  return a.rank - b.rank || (a.rank === OVERLAPPING_RANK ? b.key.since - a.key.since : 0);
}

function ends(keys: readonly RingKey[]): Pick<RingChange, "overlapEndsAt" | "nextChangeAt"> {
  const all = keys.flatMap((key) => key.notAfter ?? []);
  const signing = keys.filter(({ use, state }) => use === "Signing" && state === "previous");
  const previous = signing.flatMap(({ notAfter }) => notAfter ?? []);
  return {
    ...(previous.length === 0 ? {} : { overlapEndsAt: Math.max(...previous) }),
    ...(all.length === 0 ? {} : { nextChangeAt: Math.min(...all) }),
  };
}
