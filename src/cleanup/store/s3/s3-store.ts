import type { ObjectStore, VersionDeleter } from "../port.ts";
import { Caller } from "./caller.ts";
import { clockOf, s3Client, type S3StoreOptions } from "./client.ts";
import { DirectReads } from "./direct-reads.ts";
import { S3Deleter } from "./s3-deleter.ts";
import { S3Reader } from "./s3-reader.ts";

/** A store, and who can delete from it: only on request. */
export interface S3Store {
  readonly store: ObjectStore;
  /** Uses the connections of the store and ends with it. */
  deleter(): VersionDeleter;
}

/**
 * An S3-compatible store by the AWS SDK. The SDK takes 35 to 50 MB: whoever is not to carry out runs imports this file with `import()`, when it is needed.
 */
export function createS3Store(options: S3StoreOptions): S3Store {
  let skewMs: number | undefined;
  const observer = { clock: (storeTime: number) => (skewMs = storeTime - Date.now()) };
  const { bucket } = options.s3;
  const client = s3Client(options, observer);
  const direct = new DirectReads(client, (headers) => clockOf(headers, observer));
  return {
    store: new S3Reader(new Caller(client, bucket), direct, () => skewMs),
    deleter: () => new S3Deleter(new Caller(s3Client(options, observer, client), bucket)),
  };
}
