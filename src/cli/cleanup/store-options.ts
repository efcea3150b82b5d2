import type { Manifests, PolicyManifest } from "../../api/manifests.ts";
import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { S3StoreOptions } from "../../cleanup/store/s3/client.ts";

/** By namespace, then name. */
export type ManifestSecrets = Manifests["secrets"];

/** How a policy's store is reached with the Secrets of the manifests; without the credentials' Secret by what the AWS tools use. */
export function storeOptions(
  s3: CleanupSnapshot["s3"],
  { namespace, spec }: PolicyManifest,
  secrets: ManifestSecrets,
): S3StoreOptions {
  const { credentialsSecretRef, caSecretRef } = spec.s3;
  const valueOf = (name: string | undefined, key: string) =>
    secrets
      .get(namespace)
      ?.get(name ?? "")
      ?.data.get(key)
      ?.toString("utf8")
      .replace(/\r?\n$/, "");
  const accessKeyId = valueOf(credentialsSecretRef?.name, "accessKeyId");
  const secretAccessKey = valueOf(credentialsSecretRef?.name, "secretAccessKey");
  const sessionToken = valueOf(credentialsSecretRef?.name, "sessionToken");
  const ca = caSecretRef === undefined ? undefined : valueOf(caSecretRef.name, caSecretRef.key);
  const hasCredentials = accessKeyId !== undefined && secretAccessKey !== undefined;
  return {
    s3,
    ...(hasCredentials && {
      credentials: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    }),
    ...(ca !== undefined && { ca }),
  };
}
