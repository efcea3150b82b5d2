import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { S3Credentials } from "../../cleanup/store/s3/client.ts";
import { StoreError } from "../../cleanup/store/port.ts";

/** Credentials of a store by the keys of the Secret that a policy names (`spec.s3.credentialsSecretRef`). */
type ValueOf = (key: "accessKeyId" | "secretAccessKey" | "sessionToken") => string | undefined;

/** The SDK asks a function again when what it was given is valid for less than this (`EXPIRATION_MS` of @smithy/core), ms. */
const SDK_MARGIN_MS = 300_000;
/** Files of a mounted Secret are read again when what is known is this old, ms: little beside the minute that a kubelet takes to bring them. */
const REREAD_MS = 5_000;
/** The kubelet may take the old files away while they are read; twice in a row it does not. */
const LOOKS = 2;

/**
 * Credentials out of a Secret. One line end at the end of each value does not count.
 * @throws {@link StoreError} `InvalidCredentials` that names the key that is missing, never a value; retryable, as a Secret may be on its way
 */
export function secretCredentials(valueOf: ValueOf): S3Credentials {
  const read: ValueOf = (key) => valueOf(key)?.replace(/\r?\n$/, "") || undefined;
  const [accessKeyId, secretAccessKey, sessionToken] = [
    read("accessKeyId"),
    read("secretAccessKey"),
    read("sessionToken"),
  ];
  if (accessKeyId === undefined) throw missing("accessKeyId");
  if (secretAccessKey === undefined) throw missing("secretAccessKey");
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

/**
 * {@link secretCredentials} of a directory that a Secret is mounted to, all of one version of it.
 * @throws StoreError as there
 */
export function mountedCredentials(directory: string): S3Credentials {
  for (let look = 1; ; look += 1) {
    const place = currentOf(directory);
    try {
      return secretCredentials((key) => textOf(join(place, key)));
    } catch (error) {
      if (look === LOOKS || currentOf(directory) === place) throw error;
    }
  }
}

/** For an {@link S3Credentials} function of the SDK: a Secret that is changed is used a few seconds after the kubelet has brought it, also in the middle of a run. */
export function rotatingCredentials(directory: string, rereadMs = REREAD_MS): () => Promise<S3Credentials> {
  return async () => ({
    ...mountedCredentials(directory),
    expiration: new Date(Date.now() + SDK_MARGIN_MS + rereadMs),
  });
}

/** The kubelet changes all files at once by turning one link, `..data` (kubernetes.io/docs, "Secrets", and pkg/volume/util/atomic_writer.go): read through it, two keys are never of two versions. */
function currentOf(directory: string): string {
  try {
    return realpathSync(join(directory, "..data"));
  } catch {
    return directory;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function missing(key: string): StoreError {
  const message = `the Secret of spec.s3.credentialsSecretRef has no ${key}: put it there`;
  return new StoreError("InvalidCredentials", message, { retryable: true });
}
