import { timingSafeEqual } from "node:crypto";

/**
 * Compares secrets or signatures in constant time, as bytes or both as text. The only place in Davit that does: a lint rule refuses `timingSafeEqual` elsewhere.
 * Values of different length are unequal; their length is not secret (a digest's is fixed by its algorithm).
 */
export function equals<T extends Uint8Array | string>(a: T, b: T): boolean {
  if (typeof a === "string" && typeof b === "string") return equalTexts(a, b);
  return equalBytes(bytesOf(a), bytesOf(b));
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

function bytesOf(value: Uint8Array | string): Uint8Array {
  return typeof value === "string" ? Buffer.from(value, "utf8") : value;
}

/** Where two texts of one length are written to. */
interface Room {
  readonly left: Buffer;
  readonly right: Buffer;
  /** As much of each as ASCII fills. */
  readonly ascii: readonly [Buffer, Buffer];
}

/** Room for two texts of each length of a digest, so that comparing them allocates nothing. */
const rooms = new Map<number, Room>();
const MAX_ROOM = 128;
/** Most bytes of UTF-8 to a unit of UTF-16. */
const MAX_BYTES = 3;

function equalTexts(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const { left, right, ascii } = rooms.get(a.length) ?? makeRoom(a.length);
  // Text that is not ASCII is longer in bytes, for which there is room, and is compared in buffers of its own.
  if (left.write(a, "utf8") !== a.length || right.write(b, "utf8") !== b.length) {
    return equalBytes(bytesOf(a), bytesOf(b));
  }
  return timingSafeEqual(ascii[0], ascii[1]);
}

function makeRoom(length: number): Room {
  const left = Buffer.alloc(length * MAX_BYTES);
  const right = Buffer.alloc(length * MAX_BYTES);
  const room = { left, right, ascii: [left.subarray(0, length), right.subarray(0, length)] as const };
  if (length <= MAX_ROOM) rooms.set(length, room);
  return room;
}
