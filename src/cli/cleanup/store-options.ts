import type { Manifests, PolicyManifest } from "../../api/manifests.ts";
import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { S3StoreOptions } from "../../cleanup/store/s3/client.ts";
import { secretCredentials } from "../cleaner/credentials.ts";

/** By namespace, then name. */
export type ManifestSecrets = Manifests["secrets"];

/**
 * How a policy's store is reached with the Secrets of the manifests; without the credentials' Secret by what the AWS tools use.
 * @throws StoreError `InvalidCredentials` when that Secret lacks a key: nothing is done as somebody else
 */
export function storeOptions(
  s3: CleanupSnapshot["s3"],
  { namespace, spec }: PolicyManifest,
  secrets: ManifestSecrets,
): S3StoreOptions {
  const { credentialsSecretRef, caSecretRef } = spec.s3;
  const valueOf = (name: string, key: string) => secrets.get(namespace)?.get(name)?.data.get(key)?.toString("utf8");
  const name = credentialsSecretRef?.name;
  const ca = caSecretRef === undefined ? undefined : valueOf(caSecretRef.name, caSecretRef.key);
  return {
    s3,
    ...(name !== undefined &&
      secrets.get(namespace)?.has(name) === true && { credentials: secretCredentials((key) => valueOf(name, key)) }),
    ...(ca !== undefined && { ca }),
  };
}
