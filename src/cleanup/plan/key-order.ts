/**
 * Order of two keys in a listing: by the bytes of their UTF-8 (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html). JavaScript's own
 * order is by UTF-16 units, which puts a surrogate pair before U+E000 … U+FFFF.
 *
 * @returns negative, 0 or positive
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const x = a.charCodeAt(at);
    const y = b.charCodeAt(at);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Halves of surrogate pairs stand for code points above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
