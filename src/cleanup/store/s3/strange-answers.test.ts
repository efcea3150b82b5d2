import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CALM, currentKeys, listAll } from "../../conformance/fixtures.ts";
import { StoreError } from "../port.ts";
import { createS3Store, type S3Store } from "./s3-store.ts";

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

let server: Server;
let opened: S3Store;
/** Method and path of the requests. */
let asked: string[];
/** What is answered, by method and path. */
let answer: (request: string) => Answer;

beforeAll(async () => {
  server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    asked.push(line);
    request.resume();
    const { status = 200, headers, body = "" } = answer(line);
    response.writeHead(status, headers).end(request.method === "HEAD" || status === 204 ? undefined : body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  opened = createS3Store({
    s3: { endpoint, region: "us-east-1", bucket: "b", forcePathStyle: true, checksum: "Auto" },
    credentials: { accessKeyId: "a", secretAccessKey: "s" },
  });
});
beforeEach(() => {
  asked = [];
});
afterAll(() => {
  opened.store.close();
  server.closeAllConnections();
  server.close();
});

const VERSION = { key: "p/a", versionId: "v1" };
const failure = (call: Promise<unknown>) =>
  call.then(
    (value) => expect.unreachable(`the call succeeded: ${JSON.stringify(value)}`),
    (error: unknown) => error as StoreError,
  );

describe("200 with something else than the answer is none, and may be asked for again", () => {
  const BODIES = {
    "an error that is none": "<?xml version='1.0'?>\n<Error><Code>SlowDown</Code></Error><!-- -->\n",
    nothing: "",
    "a page of somebody else's": "<!DOCTYPE html><html><body>Sign in</body></html>",
    "the answer to another question": "<R><IsTruncated>false</IsTruncated></R>",
  };
  const CALLS = {
    listVersions: () => opened.store.listVersions({ prefix: "p/", maxEntries: 10 }, CALM),
    listKeys: () => currentKeys(opened.store, "p/"),
    bucketState: () => opened.store.bucketState(CALM),
    tags: () => opened.store.tags(VERSION, CALM),
    probeLockRights: () => opened.store.probeLockRights(VERSION, CALM),
    deleteBatch: () => opened.deleter().deleteBatch([VERSION], CALM),
  };
  const cases = Object.entries(CALLS).flatMap(([verb, call]) =>
    Object.entries(BODIES).map(([what, body]) => [verb, what, call, body] as const),
  );
  test.each(cases)("%s: %s", async (_verb, _what, call, body) => {
    answer = () => ({ body });
    expect(await failure(call())).toMatchObject({ name: "StoreError", code: "InvalidAnswer", retryable: true });
  });

  test.each(Object.entries(CALLS))("%s: an error is one, also when a line ends after it", async (_verb, call) => {
    answer = () => ({ body: "<?xml version='1.0'?>\n<Error><Code>AccessDenied</Code></Error>\n" });
    expect(await failure(call())).toMatchObject({ name: "StoreError", code: "AccessDenied" });
  });

  test("of a delete of one version does not say that it is deleted", async () => {
    answer = () => ({ body: "<html></html>" });
    expect(await opened.deleter().deleteOne(VERSION, CALM)).toEqual({ type: "unaccounted" });
    answer = () => ({ status: 204 });
    expect(await opened.deleter().deleteOne(VERSION, CALM)).toEqual({ type: "deleted" });
  });
});

describe("answers in their usual forms are taken", () => {
  test.each([
    `<?xml version="1.0" encoding="UTF-8"?>\n<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet/></Tagging>`,
    "<Tagging><TagSet></TagSet></Tagging>\n",
    "<Tagging/>",
    "<?xml version='1.0'?><!-- a <b> -->\n<Tagging ><TagSet></TagSet></Tagging>",
  ])("%s", async (body) => {
    answer = () => ({ body });
    expect(await opened.store.tags(VERSION, CALM)).toEqual([]);
  });
});

describe("a delete is sent once: whether it may be repeated is for its caller to decide", () => {
  test.each([500, 503, 408])("after %i", async (status) => {
    answer = () => ({ status, body: "<Error><Code>InternalError</Code></Error>" });
    expect(await failure(opened.deleter().deleteBatch([VERSION], CALM))).toMatchObject({ retryable: true });
    expect(asked).toHaveLength(1);
    expect(await failure(opened.deleter().deleteOne(VERSION, CALM))).toMatchObject({ retryable: true });
    expect(asked).toHaveLength(2);
  });
});

describe("HEAD", () => {
  const about = (versionId?: string) => ({
    headers: {
      "last-modified": "Tue, 01 Dec 2026 00:00:00 GMT",
      ...(versionId !== undefined && { "x-amz-version-id": versionId }),
    },
  });

  test("of another version says nothing of the one that was asked for", async () => {
    answer = () => about("v1");
    expect(await opened.store.head(VERSION, CALM)).toMatchObject({ exists: true });
    for (const named of ["v2", undefined]) {
      answer = () => about(named);
      // oxlint-disable-next-line no-await-in-loop -- two cases
      expect(await failure(opened.store.head(VERSION, CALM))).toMatchObject({ code: "InvalidAnswer", retryable: true });
    }
    expect(await opened.store.head({ ...VERSION, versionId: "null" }, CALM)).toMatchObject({ exists: true });
  });

  test("with 405 tells a delete marker only where it says so", async () => {
    answer = () => ({ status: 405, headers: { "x-amz-delete-marker": "true" } });
    expect(await opened.store.head(VERSION, CALM)).toEqual({ exists: false });
    expect(await opened.store.hasMarker(VERSION, CALM)).toBe(true);
    answer = () => ({ status: 405, headers: { allow: "GET" } });
    expect(await failure(opened.store.head(VERSION, CALM))).toMatchObject({ code: "RefusedByStore" });
  });
});

test("a delete marker that HEAD does not know is looked for in the listing, page by page of its key, and from then on there only", async () => {
  const marker = { key: "p/a", versionId: "m1" };
  const entry = (kind: string, key: string, id: string) =>
    `<${kind}><Key>${key}</Key><VersionId>${id}</VersionId><IsLatest>false</IsLatest><LastModified>2026-01-01T00:00:00.000Z</LastModified></${kind}>`;
  let pages: readonly string[] = [];
  answer = (request) => {
    if (request.startsWith("HEAD")) return { status: 404 };
    const page = pages[asked.filter((line) => line.startsWith("GET")).length - 1] ?? "";
    return {
      body: `<ListVersionsResult><IsTruncated>false</IsTruncated>${page}</ListVersionsResult>`,
    };
  };
  const look = async (...listed: string[]) => {
    pages = listed;
    asked = [];
    return { found: await opened.store.hasMarker(marker, CALM), calls: asked.map((line) => line.slice(0, 4)).join("") };
  };
  const other = entry("Version", "p/ab", "x");
  expect(await look(entry("Version", "p/a", "v9"), entry("Version", "p/a", "v1") + other)).toEqual({
    found: false,
    calls: "HEADGET GET ",
  });
  expect(await look(entry("Version", "p/a", "m1") + other)).toEqual({ found: false, calls: "HEADGET " });
  expect(await look(other)).toEqual({ found: false, calls: "HEADGET " });
  expect(await look("")).toEqual({ found: false, calls: "HEADGET " });
  expect(await look(entry("Version", "p/a", "v9"), entry("DeleteMarker", "p/a", "m1"))).toEqual({
    found: true,
    calls: "HEADGET GET ",
  });
  expect(await look(entry("DeleteMarker", "p/a", "m1"))).toEqual({ found: true, calls: "GET " });
  expect(await look("")).toEqual({ found: false, calls: "GET " });
});

describe("a listing that is cut without a word goes on, and ends where nothing more comes", () => {
  const KEYS = ["p/a", "p/b", "p/c", "p/d", "p/e"];
  const MOST = 2;

  test("versions", async () => {
    answer = (request) => {
      const query = new URLSearchParams(request.split("?")[1]);
      const rest = KEYS.filter((key) => key > (query.get("key-marker") ?? "")).slice(0, MOST);
      const entries = rest.map(
        (key) =>
          `<Version><Key>${key}</Key><VersionId>v</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-01T00:00:00.000Z</LastModified></Version>`,
      );
      return {
        body: `<ListVersionsResult><IsTruncated>false</IsTruncated>${entries.join("")}</ListVersionsResult>`,
      };
    };
    expect((await listAll(opened.store, "p/")).map(({ key }) => key)).toEqual(KEYS);
  });

  test("keys", async () => {
    answer = (request) => {
      const query = new URLSearchParams(request.split("?")[1]);
      const rest = KEYS.filter((key) => key > (query.get("start-after") ?? "")).slice(0, MOST);
      const contents = rest.map((key) => `<Contents><Key>${key}</Key></Contents>`);
      return { body: `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>` };
    };
    expect(await currentKeys(opened.store, "p/")).toEqual(KEYS);
  });
});

describe("a listing of keys is refused", () => {
  const LIES = {
    "that does not say whether it has ended": "<Contents><Key>p/a</Key></Contents>",
    "that begins anew": "<IsTruncated>false</IsTruncated><Contents><Key>p/a</Key></Contents>",
    "out of order":
      "<IsTruncated>true</IsTruncated><Contents><Key>p/b</Key></Contents><Contents><Key>p/a</Key></Contents>",
    "that leaves the prefix": "<IsTruncated>false</IsTruncated><Contents><Key>q/a</Key></Contents>",
    "that is truncated without a token": "<IsTruncated>true</IsTruncated><Contents><Key>p/a</Key></Contents>",
  };
  test.each(Object.entries(LIES))("%s", async (_, body) => {
    answer = () => ({ body: `<ListBucketResult>${body}</ListBucketResult>` });
    expect(await failure(currentKeys(opened.store, "p/"))).toMatchObject({ code: "InvalidListing", retryable: false });
  });

  test("of versions as well that does not say whether it has ended", async () => {
    answer = () => ({ body: "<ListVersionsResult></ListVersionsResult>" });
    const { store } = opened;
    expect(await failure(store.listVersions({ prefix: "p/", maxEntries: 10 }, CALM))).toMatchObject({
      code: "InvalidListing",
    });
  });
});
