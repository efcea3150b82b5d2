import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CALM } from "../../conformance/fixtures.ts";
import type { ObjectStore } from "../port.ts";
import { createS3Store } from "./s3-store.ts";

interface Asked {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
}
interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const TAGS = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
const FIRST = { key: "p/first", versionId: "v0" };
const SDK = "amz-sdk-request";

let server: Server;
let store: ObjectStore;
let asked: Asked[];
let answer: (asked: Asked) => Answer | "cut";

const honest = ({ line }: Asked): Answer => {
  const versionId = /versionId=([^& ]+)/.exec(line)?.[1] ?? "";
  if (line.includes("tagging")) return { body: TAGS };
  return { headers: { "last-modified": "Tue, 01 Dec 2026 05:00:00 GMT", "x-amz-version-id": versionId } };
};
/** Of each request, whether the SDK made it. */
const bySdk = () => asked.map(({ headers }) => headers[SDK] !== undefined);

beforeEach(async () => {
  asked = [];
  answer = honest;
  server = createServer((request, response) => {
    const one = { line: `${request.method} ${request.url}`, headers: request.headers };
    asked.push(one);
    request.resume();
    const said = answer(one);
    if (said === "cut") request.socket.destroy();
    else response.writeHead(said.status ?? 200, said.headers).end(request.method === "HEAD" ? undefined : said.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  ({ store } = createS3Store({
    s3: { endpoint, region: "eu-west-1", bucket: "b", forcePathStyle: true, checksum: "Auto" },
    credentials: { accessKeyId: "a", secretAccessKey: "s", sessionToken: "t" },
  }));
  await store.head(FIRST, CALM);
});
afterEach(() => {
  store.close();
  server.closeAllConnections();
  server.close();
});

test("from the second HEAD on the SDK is not asked, and answers are the same", async () => {
  expect(await store.head(FIRST, CALM)).toEqual({
    exists: true,
    lastModified: Date.UTC(2026, 11, 1, 5),
    tagCount: 0,
    legalHold: false,
  });
  expect(await store.tags(FIRST, CALM)).toEqual([{ key: "a", value: "b" }]);
  expect(bySdk()).toEqual([true, false, false]);
});

test("requests are the SDK's, whatever the key", async () => {
  const keys = ["p/a b", "p/a+b%2F", "p//ü/☃", "p/../(!'*)", "p/?a=b&c#d", "p/~._-"];
  for (const key of keys) {
    const version = { key, versionId: "v+/=1" };
    asked = [];
    answer = honest;
    await store.tags(version, CALM);
    await store.head(version, CALM).catch(() => undefined);
    // Which is asked by the SDK as well, because this answer cannot be taken.
    answer = (one) => ({ ...honest(one), ...(one.headers[SDK] === undefined && { status: 404 }) });
    await store.tags(version, CALM);
    await store.head(version, CALM).catch(() => undefined);
    const lines = (isSdk: boolean) =>
      asked.filter(({ headers }) => (headers[SDK] !== undefined) === isSdk).map(({ line }) => line);
    expect(new Set(lines(false))).toEqual(new Set(lines(true)));
    expect(lines(true)).toHaveLength(2);
  }
  const [sdk, direct] = [asked.find(({ headers }) => headers[SDK]), asked.find(({ headers }) => !headers[SDK])];
  for (const name of ["host", "user-agent", "x-amz-security-token", "x-amz-content-sha256"])
    expect(direct?.headers[name]).toEqual(sdk?.headers[name]);
  expect(direct?.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=a\/\d{8}\/eu-west-1\/s3\/aws4_request, /);
});

test.each<[what: string, said: Answer | "cut"]>([
  ["that failed", { status: 503 }],
  ["that was refused", { status: 403 }],
  ["that leads elsewhere", { status: 307, headers: { location: "/" } }],
  ["of another form", { headers: { "x-amz-object-lock-legal-hold": "maybe" }, body: "<Tagging/>" }],
  ["that breaks off", "cut"],
])("what the SDK says counts after an answer %s", async (_, said) => {
  answer = (one) => (one.headers[SDK] === undefined ? said : honest(one));
  expect(await store.head(FIRST, CALM)).toMatchObject({ exists: true, tagCount: 0 });
  expect(await store.tags(FIRST, CALM)).toEqual([{ key: "a", value: "b" }]);
  expect(bySdk()).toEqual([true, false, true, false, true]);
});

test("a version that is gone is what the SDK says of it", async () => {
  answer = () => ({ status: 404 });
  for (let time = 0; time < 30; time += 1) expect(await store.head(FIRST, CALM)).toEqual({ exists: false });
  answer = honest;
  asked = [];
  expect(await store.head(FIRST, CALM)).toMatchObject({ exists: true });
  expect(bySdk()).toEqual([false]);
});

test("a store that is too busy is not asked in another way for that", async () => {
  answer = (one) => (one.headers[SDK] === undefined ? { status: 503 } : honest(one));
  for (let time = 0; time < 30; time += 1) await store.tags(FIRST, CALM);
  answer = honest;
  asked = [];
  await store.tags(FIRST, CALM);
  expect(bySdk()).toEqual([false]);
});

test("an answer that is about another version says nothing, from whoever it comes", async () => {
  answer = () => ({ headers: { "last-modified": "Tue, 01 Dec 2026 05:00:00 GMT", "x-amz-version-id": "other" } });
  await expect(store.head(FIRST, CALM)).rejects.toMatchObject({ code: "InvalidAnswer", retryable: true });
});

test("a store whose answers cannot be taken is asked by the SDK alone from then on", async () => {
  answer = (one) => (one.line.includes("tagging") ? { body: `${TAGS}<!-- -->` } : honest(one));
  for (let time = 0; time < 30; time += 1) expect(await store.tags(FIRST, CALM)).toHaveLength(1);
  expect(bySdk().filter((isSdk) => !isSdk)).toHaveLength(20);
  expect(bySdk().slice(-10)).toEqual(Array.from({ length: 10 }, () => true));
});

test("who gives up is told so, and nothing more is asked", async () => {
  const controller = new AbortController();
  answer = () => {
    controller.abort();
    return { status: 503 };
  };
  await expect(store.head(FIRST, controller.signal)).rejects.toMatchObject({ code: "Aborted" });
  expect(bySdk()).toEqual([true, false]);
});

test("the clock of the store is read from these answers, too", async () => {
  answer = (one) => ({ ...honest(one), headers: { ...honest(one).headers, date: "Tue, 01 Dec 2020 05:00:00 GMT" } });
  await store.head(FIRST, CALM);
  expect(bySdk()).toEqual([true, false]);
  expect(store.clockSkewMs()).toBeLessThan(-86_400_000);
});
