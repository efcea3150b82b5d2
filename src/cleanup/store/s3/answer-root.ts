import type { S3Client } from "@aws-sdk/client-s3";
import { StoreError } from "../port.ts";

/** Root elements of the answers that something is concluded from (https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html). */
const ROOTS: ReadonlyMap<string, string> = new Map([
  ["ListObjectVersionsCommand", "ListVersionsResult"],
  ["ListObjectsV2Command", "ListBucketResult"],
  ["GetBucketVersioningCommand", "VersioningConfiguration"],
  ["GetObjectLockConfigurationCommand", "ObjectLockConfiguration"],
  ["GetObjectRetentionCommand", "Retention"],
  ["GetObjectLegalHoldCommand", "LegalHold"],
  ["GetObjectTaggingCommand", "Tagging"],
  ["DeleteObjectsCommand", "DeleteResult"],
]);

/** After the declaration and comments. */
const FIRST_ELEMENT = /^\s*(?:<\?[^>]*>\s*)?(?:<!--[^]*?-->\s*)*<(?:\w+:)?(\w+)[\s/>]/;

/**
 * Refuses an answer with 200 that is none to the question: an error in its body, an empty one, a page of whatever stands in between. The SDK reads each of them
 * as an answer without members, which of a listing means that it ends here, and of locks and tags that there are none.
 */
export function refuseOtherAnswers(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const result = await next(args);
      const root = ROOTS.get(context.commandName ?? "");
      const response = result.response as { statusCode?: number; body: AsyncIterable<Uint8Array> | Uint8Array };
      if (root === undefined || response.statusCode === undefined || response.statusCode >= 300) return result;
      const body = await allOf(response.body);
      response.body = body;
      const found = rootOf(body);
      if (found === root) return result;
      const text = found === "Error" ? body.toString("utf8").trimEnd() : "";
      // The SDK makes an error of one after which nothing comes.
      if (text.endsWith("</Error>")) {
        response.body = Buffer.from(text);
        return result;
      }
      const operation = context.commandName?.replace(/Command$/, "");
      throw new StoreError("InvalidAnswer", `${operation}: the store's answer is none to that (no ${root} in it)`, {
        retryable: true,
      });
    },
    { step: "deserialize", priority: "low", name: "davitAnswerRoot" },
  );
}

/** Name of the first element. */
function rootOf(body: Buffer): string | undefined {
  return FIRST_ELEMENT.exec(body.toString("utf8", 0, 4_096))?.[1];
}

/** The whole body of an answer. */
export async function allOf(body: AsyncIterable<Uint8Array> | Uint8Array): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body);
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}
