import { hash } from "node:crypto";
import type { VersionId } from "../store/port.ts";

/**
 * Goes on with the digest of a list of versions: SHA-256 in hex of the digest so far, a line feed, the key, a NUL and the version. Two lists are equal exactly
 * when their digests are, and a run that goes on after a crash needs only the last one.
 *
 * @param digest empty before the first version
 */
export function extendDigest(digest: string, versions: readonly VersionId[]): string {
  let chain = digest;
  for (const { key, versionId } of versions) chain = hash("sha256", `${chain}\n${key}\0${versionId}`);
  return chain;
}
