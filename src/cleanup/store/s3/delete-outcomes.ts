import type { DeletedObject, DeleteObjectsCommandOutput, _Error as DeleteError } from "@aws-sdk/client-s3";
import type { DeleteOutcome, VersionId } from "../port.ts";

/** Codes of a single version that trying again may help against (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). The SDK tries none of them. */
const RETRYABLE: ReadonlySet<string> = new Set([
  "InternalError",
  "SlowDown",
  "ServiceUnavailable",
  "OperationAborted",
  "RequestTimeout",
]);

/** The refusal of a version. A store's code is its own text, so it is kept only when it looks like one. */
export function refusal(code: string | undefined): DeleteOutcome {
  const word = code !== undefined && /^[A-Za-z][A-Za-z0-9.]{0,63}$/.test(code) ? code : "Unknown";
  return { type: "refused", code: word, retryable: RETRYABLE.has(word) };
}

/** Keys and versions as one string: neither has a NUL of XML. */
export const pairOf = ({ key, versionId }: VersionId): string => `${versionId}\0${key}`;

/**
 * What became of each version of a batch, by an answer with 200: that alone says nothing. An entry is taken for the version that it names; some stores name
 * the key only, which does where the batch has it once. A version that is not named, or that a delete marker was made instead of, is unaccounted; one that is
 * named in both lists is refused.
 */
export function deleteOutcomes(
  versions: readonly VersionId[],
  answer: Pick<DeleteObjectsCommandOutput, "Deleted" | "Errors">,
): DeleteOutcome[] {
  const pairs = new Set(versions.map(pairOf));
  const byKey = new Map<string, Set<string>>();
  for (const version of versions) {
    const ofKey = byKey.get(version.key) ?? new Set();
    byKey.set(version.key, ofKey.add(pairOf(version)));
  }
  const find = ({ Key: key, VersionId: versionId }: DeletedObject | DeleteError): string | undefined => {
    if (key === undefined) return undefined;
    if (versionId) return pairs.has(pairOf({ key, versionId })) ? pairOf({ key, versionId }) : undefined;
    const ofKey = [...(byKey.get(key) ?? [])];
    return ofKey.length === 1 ? ofKey[0] : undefined;
  };
  const known = new Map<string, DeleteOutcome>();
  for (const deleted of answer.Deleted ?? []) {
    const pair = find(deleted);
    if (pair !== undefined && !isNewMarker(deleted, pair)) known.set(pair, { type: "deleted" });
  }
  for (const error of answer.Errors ?? []) {
    const pair = find(error);
    if (pair !== undefined) known.set(pair, refusal(error.Code));
  }
  return versions.map((version) => known.get(pairOf(version)) ?? { type: "unaccounted" });
}

/** The store made a delete marker: it did not look at the version. One that is deleted itself is named by its own id. */
function isNewMarker({ DeleteMarkerVersionId: marker }: DeletedObject, pair: string): boolean {
  return marker !== undefined && marker !== "" && !pair.startsWith(`${marker}\0`);
}
