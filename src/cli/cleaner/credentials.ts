import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { S3Credentials } from "../../cleanup/store/s3/client.ts";
import { StoreError } from "../../cleanup/store/port.ts";

/** As the keys of the Secret that a policy names (`spec.s3.credentialsSecretRef`). */
const FILES = { accessKeyId: "accessKeyId", secretAccessKey: "secretAccessKey", sessionToken: "sessionToken" } as const;

/**
 * Credentials of the store out of the files of a mounted Secret. One line end at the end of each does not count.
 *
 * @throws {@link StoreError} `InvalidCredentials` that names the file, never what is in one; retryable, as a Secret may be on its way
 */
export function mountedCredentials(directory: string): S3Credentials {
  const accessKeyId = read(directory, FILES.accessKeyId);
  const secretAccessKey = read(directory, FILES.secretAccessKey);
  const sessionToken = read(directory, FILES.sessionToken);
  if (accessKeyId === undefined) throw missing(FILES.accessKeyId);
  if (secretAccessKey === undefined) throw missing(FILES.secretAccessKey);
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

/** `undefined`: there is none, or it is empty. */
function read(directory: string, file: string): string | undefined {
  try {
    const text = readFileSync(join(directory, file), "utf8").replace(/\r?\n$/, "");
    return text === "" ? undefined : text;
  } catch {
    return undefined;
  }
}

function missing(file: string): StoreError {
  const message = `the Secret of spec.s3.credentialsSecretRef has no ${file}: put it there`;
  return new StoreError("InvalidCredentials", message, { retryable: true });
}
