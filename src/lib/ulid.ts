import { randomFillSync } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const HALF = 2 ** 40;
const POOL_BYTES = 1_280;

/**
 * Makes ULIDs (26 characters of Crockford base32: 48 bits of Unix ms, 80 random bits) that grow strictly within one process: in the same or an
 * earlier millisecond the random part is counted up. Randomness is drawn from a pool; the `ulid` package spends 50 µs on each new
 * millisecond.
 *
 * @returns a function from Unix ms to the next id
 */
export function monotonicUlids(): (now: number) => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  let time = -1;
  let head = "";
  let high = 0;
  let low = 0;
  const reseed = (now: number) => {
    if (used === POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    high = pool.readUIntBE(used, 5);
    low = pool.readUIntBE(used + 5, 5);
    used += 10;
    time = now;
    head = encode(now, 10) + encode(high, 8);
  };
  const countUp = () => {
    low += 1;
    if (low < HALF) return;
    low = 0;
    high = (high + 1) % HALF;
    head = head.slice(0, 10) + encode(high, 8);
  };
  return (now) => {
    if (now > time) reseed(now);
    else countUp();
    return head + encode(low, 8);
  };
}

/** The number's last `length` base32 digits. */
function encode(value: number, length: number): string {
  let text = "";
  let rest = value;
  for (let digit = 0; digit < length; digit++) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
