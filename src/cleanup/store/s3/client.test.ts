import { GetBucketVersioningCommand } from "@aws-sdk/client-s3";
import { afterEach, expect, test, vi } from "vitest";
import { type S3StoreOptions, s3Client } from "./client.ts";

afterEach(() => vi.unstubAllEnvs());

/** Where a call would go; nothing is sent. */
async function destination(s3: Partial<S3StoreOptions["s3"]>): Promise<string> {
  const base = { region: "eu-west-1", bucket: "bucket", forcePathStyle: false, checksum: "Auto" } as const;
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const client = s3Client({ s3: { ...base, ...s3 }, credentials }, { clock: () => {} });
  let url = "";
  client.middlewareStack.add(
    () => (args) => {
      const { protocol, hostname, path } = args.request as { protocol: string; hostname: string; path: string };
      url = `${protocol}//${hostname}${path}`;
      return Promise.reject(new Error("nothing is sent"));
    },
    { step: "finalizeRequest", priority: "low" },
  );
  await expect(client.send(new GetBucketVersioningCommand({ Bucket: "bucket" }))).rejects.toThrow("nothing is sent");
  client.destroy();
  return url;
}

test("without an endpoint calls go to AWS by region, whatever the environment says", async () => {
  vi.stubEnv("AWS_ENDPOINT_URL", "http://elsewhere.example");
  vi.stubEnv("AWS_ENDPOINT_URL_S3", "http://elsewhere.example");
  vi.stubEnv("AWS_REGION", "us-west-2");
  expect(await destination({})).toBe("https://bucket.s3.eu-west-1.amazonaws.com/");
});

test("an endpoint is called as it is, with the bucket in its path or in its name", async () => {
  const endpoint = "https://store.example";
  expect(await destination({ endpoint, forcePathStyle: true })).toBe("https://store.example/bucket/");
  expect(await destination({ endpoint })).toBe("https://bucket.store.example/");
});
