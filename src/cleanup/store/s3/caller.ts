import type { S3Client } from "@aws-sdk/client-s3";
import { StoreError } from "../port.ts";
import { storeError } from "./errors.ts";

/** Makes the calls of one bucket: each gives up with its signal, and rejects with a {@link StoreError} and nothing else. */
export class Caller {
  readonly client: S3Client;
  readonly bucket: string;

  constructor(client: S3Client, bucket: string) {
    this.client = client;
    this.bucket = bucket;
  }

  /**
   * @param operation its name in the S3 API, for messages
   * @param call what is asked; `expected` sees what it rejects with first, and may make a result of it
   */
  async ask<T>(
    operation: string,
    signal: AbortSignal,
    call: () => Promise<T>,
    expected?: (error: unknown) => T | undefined,
  ): Promise<T> {
    const asked = `${operation} of bucket "${this.bucket}"`;
    if (signal.aborted) throw aborted(asked);
    // The SDK looks at the signal when it sends, not while it waits to try again.
    let onAbort: (() => void) | undefined;
    const whenAborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(aborted(asked));
      signal.addEventListener("abort", onAbort, { once: true });
    });
    try {
      return await Promise.race([call(), whenAborted]);
    } catch (error) {
      if (signal.aborted) throw aborted(asked);
      const result = expected?.(error);
      if (result !== undefined) return result;
      throw storeError(error, asked);
    } finally {
      if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
    }
  }
}

function aborted(asked: string): StoreError {
  return new StoreError("Aborted", `${asked}: given up`, { retryable: true });
}
