import { Readable } from "node:stream";
import { StoreError } from "../port.ts";

/**
 * The whole of an object. Of one that is too large no more is read than shows it.
 *
 * @throws {@link StoreError} `ManifestTooLarge`
 */
export async function readAtMost(body: unknown, maxBytes: number): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  if (!(body instanceof Readable))
    throw new StoreError("InvalidAnswer", "the object's body cannot be read", { retryable: true });
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      parts.push(part);
    }
  } finally {
    body.destroy();
  }
  return Buffer.concat(parts);
}

function tooLarge(maxBytes: number): StoreError {
  return new StoreError("ManifestTooLarge", `the object has more than ${maxBytes} bytes`, { retryable: false });
}
