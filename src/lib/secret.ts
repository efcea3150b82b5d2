import { hash } from "node:crypto";
import { inspect } from "node:util";
import { equals } from "./equals.ts";

const SHOWN = "[secret]";

/**
 * Whether bytes are no secret: none at all, or nothing but ASCII white space and zeros. An HMAC with such a key is one that anybody can compute; with zeros it
 * is even that of the empty key (RFC 2104 §2).
 */
export function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0 || byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

/**
 * The bytes of a secret, in a wrapping that cannot be printed by mistake: text, JSON and `inspect` show `[secret]`. What a Secret of Kubernetes, a file
 * or a sender holds becomes one of these at the edge, and is opened only where an algorithm needs its bytes.
 */
export class Secret {
  readonly #bytes: Buffer;

  /** @param bytes kept, not copied */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The secret that is written as this text. */
  static of(text: string, encoding: BufferEncoding = "utf8"): Secret {
    return new Secret(Buffer.from(text, encoding));
  }

  /** Length in bytes. */
  get length(): number {
    return this.#bytes.length;
  }

  /** {@link isBlank} of its bytes. */
  get isBlank(): boolean {
    return isBlank(this.#bytes);
  }

  /** The bytes, for an algorithm that needs them. Never log or keep what comes out. */
  reveal(): Buffer {
    return this.#bytes;
  }

  /** Whether something a sender gave is this secret, in constant time. Both sides are hashed, so that not even the length shows. */
  equals(other: Uint8Array): boolean {
    return equals(hash("sha256", this.#bytes, "buffer"), hash("sha256", other, "buffer"));
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}
