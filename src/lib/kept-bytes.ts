/**
 * Decodes text into bytes that are kept for long. They have memory of their own: a small Buffer is cut from a slab of 64 KiB that many share
 * (`Buffer.poolSize`), and the slab stays as long as one of its pieces, so that a thousand kept keys would hold a thousand slabs.
 */
export function keptBytes(text: string, encoding: "base64" | "utf8"): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, encoding));
  // Base64 with blanks or line ends is shorter than its length says.
  return bytes.subarray(0, bytes.write(text, encoding));
}
