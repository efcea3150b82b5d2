import { createHash, hash } from "node:crypto";

/** SHA-256 of the parts, each prefixed with its byte length (4 bytes, big-endian), so that ("ab","c") and ("a","bc") differ. */
export function sha256Parts(parts: readonly (string | Buffer)[]): Buffer {
  const sum = createHash("sha256");
  const length = Buffer.alloc(4);
  for (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    length.writeUInt32BE(bytes.length);
    sum.update(length).update(bytes);
  }
  return sum.digest();
}

/** The first bytes of SHA-256. It comes as text, and is cut, before it becomes a Buffer: one made by the hash itself costs more than hashing a kilobyte. */
export function sha256Head(bytes: Buffer | string, length: number): Buffer {
  return Buffer.from(hash("sha256", bytes, "binary").slice(0, length), "latin1");
}

/** The first 16 hex digits of {@link sha256Parts}: a name that is short, stable and safe in a Redis key or a Kubernetes name. */
export function shortHash(...parts: readonly string[]): string {
  return sha256Parts(parts).toString("hex", 0, 8);
}

/** Name-based UUID, version 5 (RFC 9562 §5.5), over an all-zero namespace and the parts joined by "/". */
export function uuidV5(...parts: readonly string[]): string {
  const bytes = hash("sha1", Buffer.concat([Buffer.alloc(16), Buffer.from(parts.join("/"))]), "buffer").subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
