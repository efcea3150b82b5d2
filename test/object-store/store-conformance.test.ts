import { afterAll, describe } from "vitest";
import { storeConformance } from "../../src/cleanup/conformance/suite.ts";
import { createS3Store, type S3Store } from "../../src/cleanup/store/s3/s3-store.ts";
import { makeBucket } from "../support/object-store/bucket.ts";
import { sharedObjectStore } from "../support/object-store/shared.ts";

const opened: S3Store[] = [];
afterAll(() => {
  for (const { store } of opened) store.close();
});

describe("an S3 store, by Ceph", () => {
  storeConformance(async (options) => {
    const { accessKeyId, secretAccessKey } = sharedObjectStore();
    const owner = await makeBucket(sharedObjectStore(), options);
    const s3 = createS3Store({ s3: owner.s3, credentials: { accessKeyId, secretAccessKey } });
    opened.push(s3);
    return { store: s3.store, deleter: s3.deleter(), owner };
  });
});
