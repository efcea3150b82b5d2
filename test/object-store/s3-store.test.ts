import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CALM, currentKeys, line, listAll } from "../../src/cleanup/conformance/fixtures.ts";
import { StoreError } from "../../src/cleanup/store/port.ts";
import type { S3StoreOptions } from "../../src/cleanup/store/s3/client.ts";
import { createS3Store, type S3Store } from "../../src/cleanup/store/s3/s3-store.ts";
import { certificateAuthority } from "../support/certificates.ts";
import { heldPort } from "../support/held-port.ts";
import { makeBucket, type TestBucket } from "../support/object-store/bucket.ts";
import { sharedObjectStore } from "../support/object-store/shared.ts";
import { errorAnswer, type StoreProxy, startStoreProxy } from "../support/object-store/store-proxy.ts";

let bucket: TestBucket;
let locked: TestBucket;
let proxy: StoreProxy;
const opened: S3Store[] = [];

beforeAll(async () => {
  bucket = await makeBucket(sharedObjectStore());
  locked = await makeBucket(sharedObjectStore(), { objectLock: true });
});
beforeEach(async () => {
  proxy = await startStoreProxy(sharedObjectStore().endpoint);
});
afterEach(() => proxy.stop());
afterAll(() => {
  for (const { store } of opened) store.close();
});

type Change = Partial<Omit<S3StoreOptions, "s3">> & { s3?: Partial<S3StoreOptions["s3"]> };

/** The store of the test's bucket, straight or otherwise. */
function open(change: Change = {}) {
  const { accessKeyId, secretAccessKey } = sharedObjectStore();
  const s3 = { ...bucket.s3, ...change.s3 };
  const s3Store = createS3Store({ credentials: { accessKeyId, secretAccessKey }, ...change, s3 });
  opened.push(s3Store);
  return { store: s3Store.store, deleter: s3Store.deleter() };
}

/** Through the proxy. */
const openProxied = (change: Change = {}) => open({ ...change, s3: { endpoint: proxy.endpoint, ...change.s3 } });

const failure = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable("the call succeeded"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(StoreError);
      return error as StoreError;
    },
  );

const listing = { prefix: "l/", maxEntries: 4 };
const isListing = (url: string) => /[?&]versions/.test(url);

describe("keys and pages", () => {
  test("p%2Fq and p+q, whose marker Ceph does not encode as their keys, are both listed, page by page", async () => {
    await bucket.putAll(["trap/p q", "trap/p%2Fq", "trap/p+q", "trap/pü/☃"]);
    const keys = (await listAll(open().store, "trap/", 1)).map(({ key }) => key);
    expect(keys).toEqual(["trap/p q", "trap/p%2Fq", "trap/p+q", "trap/pü/☃"]);
    expect(await currentKeys(open().store, "trap/")).toEqual(keys);
  });

  test.for(["\n", "\r", "\t", "a\r\nb", "\u0085", "]]>"])("a key with %j is listed and deleted", async (odd) => {
    const { store, deleter } = open();
    const key = `odd/${encodeURIComponent(odd)}/${odd}`;
    const versionId = await bucket.put(key);
    const entries = await listAll(store, `odd/${encodeURIComponent(odd)}/`);
    expect(entries).toMatchObject([{ key, versionId }]);
    expect((await deleter.deleteOne({ key, versionId }, CALM)).type).toBe("deleted");
    expect(await listAll(store, `odd/${encodeURIComponent(odd)}/`)).toEqual([]);
  });

  test("versions under keys of every kind are looked at, and their tags read, by one signed request each", async () => {
    const names = ["direct/a b", "direct/a+b%2F", "direct//ü/☃", "direct/(!'*)", "direct/?a=b&c#d", "direct/~._-"];
    const tags = [
      { key: "a b", value: "c/d" },
      { key: "é", value: "" },
    ];
    const { store } = openProxied();
    for (const key of ["direct/first", ...names]) {
      const version = { key, versionId: await bucket.put(key, { tags }) };
      proxy.requests.length = 0;
      expect(await store.head(version, CALM)).toMatchObject({ exists: true, tagCount: 2 });
      expect(new Set(await store.tags(version, CALM))).toEqual(new Set(tags));
      // The first of all is made by the SDK.
      const bySdk = proxy.requests.map(({ headers }) => headers["amz-sdk-request"] !== undefined);
      expect(bySdk).toEqual([key === "direct/first", false]);
    }
  });

  test("more than 1,000 versions of one key are listed, the newest first, and go on after the key alone", async () => {
    const keys = Array.from({ length: 1_050 }, () => "many/a");
    await bucket.putAll(keys);
    await bucket.put("many/b");
    const { store } = open();
    const entries = await listAll(store, "many/");
    expect(entries).toHaveLength(1_051);
    expect(new Set(entries.map(({ versionId }) => versionId)).size).toBe(1_051);
    expect(entries.map(({ isLatest }) => isLatest)).toEqual([
      true,
      ...Array.from({ length: 1_049 }, () => false),
      true,
    ]);
    const after = await store.listVersions({ prefix: "many/", maxEntries: 1_000, after: { key: "many/a" } }, CALM);
    expect(after.entries).toMatchObject([{ key: "many/b" }]);
  });

  test("versions and delete markers of one second keep the order they were made in, in pages of every size", async () => {
    const { store } = open();
    const made: string[] = [];
    for (let round = 0; round < 5; round++) {
      // oxlint-disable no-await-in-loop -- versions have an order
      made.unshift(await bucket.put("second/a"));
      made.unshift(await bucket.mark("second/a"));
      // oxlint-enable no-await-in-loop
    }
    proxy.change = (answer) => {
      const sameTime = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>";
      return { ...answer, body: answer.body.replaceAll(/<LastModified>[^<]*<\/LastModified>/g, sameTime) };
    };
    for (const from of [store, openProxied().store]) {
      for (const size of [1, 3, 1_000]) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other is gentler with the store
        expect((await listAll(from, "second/", size)).map(({ versionId }) => versionId)).toEqual(made);
      }
    }
  });
});

describe("a listing that lies", () => {
  beforeAll(async () => {
    await bucket.putAll(["l/a", "l/b", "l/c", "l/d", "l/e", "l/f"]);
  });

  const LIES: Readonly<Record<string, (body: string) => string>> = {
    "is truncated without a marker": (body) => body.replace(/<NextKeyMarker>[^<]*<\/NextKeyMarker>/, ""),
    "goes on elsewhere": (body) => body.replace(/<NextKeyMarker>[^<]*</, "<NextKeyMarker>l/x<"),
    "goes on at another version": (body) => body.replace(/<NextVersionIdMarker>[^<]*</, "<NextVersionIdMarker>x<"),
    "is out of order": (body) => body.replace("<Key>l%2Fa<", "<Key>l%2Fz<"),
    "leaves the prefix": (body) => body.replace("<Key>l%2Fa<", "<Key>k%2Fa<"),
    "is truncated and empty": (body) => body.replaceAll(/<Version>.*?<\/Version>/gs, ""),
    "has no versions": (body) =>
      body.replace("<IsTruncated>true", "<IsTruncated>false").replaceAll(/<VersionId>[^<]*<\/VersionId>/g, ""),
    "has a key that is not encoded": (body) => body.replace("<Key>l%2Fa<", "<Key>l%2F%zz<"),
  };

  test.for(Object.entries(LIES))("that %s is refused", async ([, lie]) => {
    proxy.change = (answer, { url }) => (isListing(url) ? { ...answer, body: lie(answer.body) } : answer);
    const error = await failure(openProxied().store.listVersions(listing, CALM));
    expect(error).toMatchObject({ code: "InvalidListing", retryable: false });
  });

  test("that gives the same page again is refused", async () => {
    const { store } = openProxied();
    let first: string | undefined;
    proxy.change = (answer) => ({ ...answer, body: (first ??= answer.body) });
    const { next } = await store.listVersions(listing, CALM);
    if (next === undefined) throw new Error("it is one page");
    expect(await failure(store.listVersions({ ...listing, after: next }, CALM))).toMatchObject({
      code: "InvalidListing",
    });
  });

  test("whose XML is broken is asked for again", async () => {
    proxy.change = (answer) => ({ ...answer, body: answer.body.slice(0, 400) });
    const error = await failure(openProxied().store.listVersions(listing, CALM));
    expect(error).toMatchObject({ code: "InvalidAnswer", retryable: true });
  });

  test("that is honest is not refused, also where it encodes its markers or sends no version with them", async () => {
    const whole = (await listAll(open().store, "l/")).map(line);
    expect(whole).toHaveLength(6);
    proxy.change = (answer) => ({
      ...answer,
      body: answer.body
        .replace(/<NextKeyMarker>([^<]*)</, (_, key: string) => `<NextKeyMarker>${encodeURIComponent(key)}<`)
        .replace(/<NextVersionIdMarker>[^<]*</, "<NextVersionIdMarker><"),
    });
    expect((await listAll(openProxied().store, "l/", 4)).map(line)).toEqual(whole);
  });
});

describe("why a call fails", () => {
  const state = (change: Change) => failure(open(change).store.bucketState(CALM));

  test("credentials that the store does not know, or that do not fit", async () => {
    const { accessKeyId } = sharedObjectStore();
    const secretAccessKey = "not-the-right-one";
    const unknown = await state({ credentials: { accessKeyId: "nobody", secretAccessKey } });
    expect(unknown).toMatchObject({ code: "InvalidCredentials", retryable: false });
    const wrong = await state({ credentials: () => Promise.resolve({ accessKeyId, secretAccessKey }) });
    expect(wrong).toMatchObject({ code: "InvalidCredentials", retryable: false });
    for (const { message, cause } of [unknown, wrong]) {
      expect(cause).toBeUndefined();
      expect(message).not.toMatch(new RegExp(`nobody|${accessKeyId}|${secretAccessKey}`));
    }
  });

  test("a bucket that is not there", async () => {
    const error = await state({ s3: { bucket: "no-such-bucket-here" } });
    expect(error).toMatchObject({ code: "BucketNotFound", retryable: false });
    expect(error.message).toContain('"no-such-bucket-here"');
  });

  test("nobody listens, or the name is unknown", async () => {
    const nobody = `http://127.0.0.1:${await heldPort()}`;
    expect(await state({ s3: { endpoint: nobody } })).toMatchObject({ code: "Unreachable", retryable: true });
    const unknown = "http://store.invalid";
    expect(await state({ s3: { endpoint: unknown } })).toMatchObject({ code: "Unreachable", retryable: true });
  });

  test("no answer, or half of one", async () => {
    const hung = openProxied({ timeouts: { answerMs: 300 } }).store;
    proxy.instead = () => "hang";
    expect(await failure(hung.listVersions(listing, CALM))).toMatchObject({ code: "Timeout", retryable: true });
    const stalled = openProxied({ timeouts: { idleMs: 300 } }).store;
    proxy.instead = () => undefined;
    proxy.change = () => "stall";
    expect(await failure(stalled.listVersions(listing, CALM))).toMatchObject({ retryable: true });
  });

  test("who gives up is not kept waiting, neither for an answer nor until the next attempt", async () => {
    const { store } = openProxied();
    const patience = new AbortController();
    proxy.instead = () => "hang";
    const call = failure(store.listVersions(listing, patience.signal));
    await expect.poll(() => proxy.requests.length).toBe(1);
    patience.abort();
    expect(await call).toMatchObject({ code: "Aborted" });
  });

  const ANSWERS: readonly [status: number, code: string, reason: string, retryable: boolean][] = [
    [503, "SlowDown", "SlowDown", true],
    [429, "TooManyRequests", "SlowDown", true],
    [500, "InternalError", "StoreUnavailable", true],
    [502, "", "StoreUnavailable", true],
    [403, "AccessDenied", "AccessDenied", false],
    [400, "ExpiredToken", "InvalidCredentials", false],
    [501, "NotImplemented", "RefusedByStore", false],
    [400, "InvalidArgument", "RefusedByStore", false],
    [301, "PermanentRedirect", "RefusedByStore", false],
    [400, "AuthorizationHeaderMalformed", "RefusedByStore", false],
  ];

  test.for(ANSWERS)("an answer of %i %s is %s", async ([status, code, reason, retryable]) => {
    proxy.instead = () => errorAnswer(status, code);
    const error = await failure(openProxied().store.listVersions(listing, CALM));
    expect(error).toMatchObject({ code: reason, retryable });
    expect(error.message).not.toContain("of the proxy");
  });

  test("a bucket of another region is told by the field that names it, and where it is", async () => {
    proxy.instead = () => errorAnswer(301, "PermanentRedirect", { "x-amz-bucket-region": "eu-west-1" });
    const { message } = await failure(openProxied().store.listVersions(listing, CALM));
    expect(message).toMatch(/spec\.s3\.region.*eu-west-1/);
  });

  test("a transient failure is tried three times", async () => {
    const { store } = openProxied();
    proxy.instead = () => (proxy.requests.length < 3 ? errorAnswer(503, "SlowDown") : undefined);
    await expect(store.listVersions(listing, CALM)).resolves.toMatchObject({ entries: [{ key: "l/a" }, {}, {}, {}] });
    expect(proxy.requests).toHaveLength(3);
  });

  test("lock rights that are missing are told from versions without locks", async () => {
    const key = "r/a";
    const version = { key, versionId: await locked.put(key) };
    const at = (change: Change) => open({ ...change, s3: { bucket: locked.name, ...change.s3 } }).store;
    await expect(at({}).probeLockRights(version, CALM)).resolves.toBeUndefined();
    proxy.instead = ({ url }) => (url.includes("legal-hold") ? errorAnswer(403, "AccessDenied") : undefined);
    const denied = await failure(at({ s3: { endpoint: proxy.endpoint } }).probeLockRights(version, CALM));
    expect(denied).toMatchObject({ code: "AccessDenied", retryable: false });
  });
});

describe("clock and TLS", () => {
  test("the clock of the store is read from every answer, also of an error", async () => {
    const { store } = openProxied();
    expect(store.clockSkewMs()).toBeUndefined();
    proxy.change = (answer) => ({
      ...answer,
      headers: { ...answer.headers, date: new Date(Date.now() + 3_600_000).toUTCString() },
    });
    await store.listVersions(listing, CALM);
    expect(Math.abs((store.clockSkewMs() ?? 0) - 3_600_000)).toBeLessThan(60_000);
    proxy.instead = () => errorAnswer(403, "AccessDenied", { date: new Date(Date.now() - 7_200_000).toUTCString() });
    await failure(store.listVersions(listing, CALM));
    expect(Math.abs((store.clockSkewMs() ?? 0) + 7_200_000)).toBeLessThan(60_000);
  });

  test("RequestTimeTooSkewed is told as the clock's", async () => {
    proxy.instead = () => errorAnswer(403, "RequestTimeTooSkewed");
    expect(await failure(openProxied().store.listVersions(listing, CALM))).toMatchObject({ code: "ClockSkew" });
  });

  test("a private authority is accepted where the policy names it, and only there", async () => {
    const ca = certificateAuthority("authority of the store");
    const tls = await startStoreProxy(sharedObjectStore().endpoint, ca.issue("store", ["IP:127.0.0.1"]));
    try {
      const s3 = { endpoint: tls.endpoint };
      const { store } = open({ s3, ca: ca.certificate });
      expect(await store.bucketState(CALM)).toMatchObject({ versioning: "Enabled" });
      const stranger = await failure(open({ s3 }).store.bucketState(CALM));
      expect(stranger).toMatchObject({ code: "TLSFailed", retryable: true });
    } finally {
      await tls.stop();
    }
  });
});

describe("deletes", () => {
  const isBatch = (url: string) => /[?&]delete/.test(url);

  test("MD5 goes out instead of the newer checksums where the policy says so, and the store accepts it", async () => {
    const version = { key: "d/md5", versionId: await bucket.put("d/md5") };
    const { deleter } = openProxied({ s3: { checksum: "MD5" } });
    expect(await deleter.deleteBatch([version], CALM)).toEqual([{ type: "deleted" }]);
    const [sent] = proxy.requests;
    expect(sent?.headers).toHaveProperty("content-md5");
    expect(Object.keys(sent?.headers ?? {}).filter((name) => name.includes("checksum"))).toEqual([]);
    expect((await bucket.all()).some(({ key }) => key === "d/md5")).toBe(false);
  });

  test("what is sent names versions and asks for every answer; nothing bypasses governance", async () => {
    const versions = await bucket.putAll(["d/1", "d/2"]);
    const { deleter } = openProxied();
    await deleter.deleteBatch(versions, CALM);
    await deleter.deleteOne({ key: "d/1", versionId: versions[0]?.versionId ?? "" }, CALM);
    for (const { headers, url } of proxy.requests) {
      expect(Object.keys(headers).filter((name) => name.includes("bypass"))).toEqual([]);
      expect(url).toMatch(/delete|versionId=/);
    }
    expect(proxy.requests[0]?.body).not.toContain("<Quiet>true");
    expect(proxy.requests[0]?.body.match(/<VersionId>/g)).toHaveLength(2);
  });

  test("without a version, or of the version null, nothing is sent", async () => {
    await bucket.put("d/keep");
    const { deleter } = openProxied();
    for (const versionId of ["", "null"]) {
      const refused = { type: "refused", code: "NoVersionId", retryable: false };
      // oxlint-disable no-await-in-loop -- two cases
      expect(await deleter.deleteBatch([{ key: "d/keep", versionId }], CALM)).toEqual([refused]);
      expect(await deleter.deleteOne({ key: "d/keep", versionId }, CALM)).toEqual(refused);
      // oxlint-enable no-await-in-loop
    }
    expect(proxy.requests).toEqual([]);
  });

  test("a refusal of one version within 200 is told as that version's", async () => {
    const versions = await bucket.putAll(["e/1", "e/2", "e/3"]);
    const { deleter } = openProxied();
    proxy.change = (answer, { url }) => {
      if (!isBatch(url)) return answer;
      const body = answer.body
        .replace(
          /<Deleted><Key>e(?:\/|%2F)1<.*?<\/Deleted>/s,
          "<Error><Key>e/1</Key><Code>InternalError</Code></Error>",
        )
        .replace(/<Deleted><Key>e(?:\/|%2F)2<.*?<\/Deleted>/s, "");
      return { ...answer, body };
    };
    expect(await deleter.deleteBatch(versions, CALM)).toEqual([
      { type: "refused", code: "InternalError", retryable: true },
      { type: "unaccounted" },
      { type: "deleted" },
    ]);
  });

  test("200 with an error in its body is an error, also when a line ends after it", async () => {
    const versions = await bucket.putAll(["f/1", "f/2"]);
    const { deleter } = openProxied();
    proxy.instead = () => errorAnswer(200, "SlowDown");
    expect(await failure(deleter.deleteBatch(versions, CALM))).toMatchObject({ code: "SlowDown", retryable: true });
    proxy.instead = () => {
      const { body, ...rest } = errorAnswer(200, "SlowDown");
      return { ...rest, body: `${body}\n` };
    };
    expect(await failure(deleter.deleteBatch(versions, CALM))).toMatchObject({ code: "SlowDown", retryable: true });
  });

  test("a delete whose answer is lost is sent once, may be asked for again, and is deleted", async () => {
    const { deleter } = openProxied();
    const versions = await bucket.putAll(["lost/1", "lost/2"]);
    proxy.change = (answer) => {
      if (proxy.requests.length === 1) throw new Error("cut");
      return answer;
    };
    expect(await failure(deleter.deleteBatch(versions, CALM))).toMatchObject({ code: "Timeout", retryable: true });
    expect(proxy.requests).toHaveLength(1);
    expect(await deleter.deleteBatch(versions, CALM)).toEqual(versions.map(() => ({ type: "deleted" })));
    expect((await bucket.all()).filter(({ key }) => key.startsWith("lost/"))).toEqual([]);
  });

  test("a batch with a control character fails as a whole, and deletes nothing", async () => {
    const versions = await bucket.putAll(["g/\u0001", "g/2"]);
    const error = await failure(open().deleter.deleteBatch(versions, CALM));
    expect(error).toMatchObject({ code: "RefusedByStore", retryable: false });
    expect((await bucket.all()).filter(({ key }) => key.startsWith("g/"))).toHaveLength(2);
  });
});
