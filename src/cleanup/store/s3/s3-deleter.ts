import { DeleteObjectCommand, DeleteObjectsCommand } from "@aws-sdk/client-s3";
import { type DeleteOutcome, MAX_BATCH, StoreError, type VersionDeleter, type VersionId } from "../port.ts";
import type { Caller } from "./caller.ts";
import { deleteOutcomes, pairOf, refusal } from "./delete-outcomes.ts";
import { codeOfAnswer, storeError } from "./errors.ts";

/**
 * Deletes versions, and never says BypassGovernanceRetention. Without a version S3 would make a delete marker, and `null` names what was written last: neither
 * is sent.
 */
export class S3Deleter implements VersionDeleter {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async deleteBatch(versions: readonly VersionId[], signal: AbortSignal): Promise<readonly DeleteOutcome[]> {
    if (versions.length === 0 || versions.length > MAX_BATCH) throw sizeError(versions.length);
    const sent = versions.filter(isOneVersion);
    if (sent.length === 0) return versions.map(() => NO_VERSION);
    // S3 answers a version as often as it is asked for: each is sent once.
    const unique = [...new Map(sent.map((version) => [pairOf(version), version])).values()];
    const { client, bucket } = this.#caller;
    const Objects = unique.map(({ key, versionId }) => ({ Key: key, VersionId: versionId }));
    const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: false } });
    const answer = await this.#caller.ask("DeleteObjects", signal, () => client.send(command, { abortSignal: signal }));
    const outcomes = deleteOutcomes(versions, answer);
    return versions.map((version, index) => (isOneVersion(version) ? outcomes[index] : undefined) ?? NO_VERSION);
  }

  async deleteOne(version: VersionId, signal: AbortSignal): Promise<DeleteOutcome> {
    if (!isOneVersion(version)) return NO_VERSION;
    const { client, bucket } = this.#caller;
    const { key, versionId } = version;
    const command = new DeleteObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId });
    const call = async (): Promise<DeleteOutcome> => {
      const { VersionId: named, $metadata } = await client.send(command, { abortSignal: signal });
      // Another version is named when the store made a delete marker instead; what is not 204 may be the answer of somebody else.
      const isNamed = named === undefined || named === "" || named === versionId;
      return { type: isNamed && $metadata.httpStatusCode === 204 ? "deleted" : "unaccounted" };
    };
    return this.#caller.ask("DeleteObject", signal, call, refusedAlone);
  }
}

const NO_VERSION: DeleteOutcome = { type: "refused", code: "NoVersionId", retryable: false };

function isOneVersion({ versionId }: VersionId): boolean {
  return versionId !== "" && versionId !== "null";
}

/** A refusal of this version, in contrast to one of everything, such as of credentials, or to a store that is down. */
function refusedAlone(error: unknown): DeleteOutcome | undefined {
  const { code } = storeError(error, "DeleteObject");
  return code === "AccessDenied" || code === "RefusedByStore" || code === "NoSuchKey"
    ? refusal(codeOfAnswer(error) ?? code)
    : undefined;
}

function sizeError(size: number): StoreError {
  return new StoreError("BatchTooLarge", `a batch has 1 to ${MAX_BATCH} versions, not ${size}`, { retryable: false });
}
