import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { errorAnswer, type StoreProxy, startStoreProxy } from "../support/object-store/store-proxy.ts";

let behind: Server;
let heard: { method: string; url: string; host: string; body: string }[];
let proxy: StoreProxy;

beforeEach(async () => {
  heard = [];
  behind = createServer((incoming, outgoing) => {
    const answer = async () => {
      const { method = "", url = "", headers } = incoming;
      const body = (await bytesOf(incoming)).toString("hex");
      heard.push({ method, url, host: headers.host ?? "", body });
      outgoing.setHeader("x-behind", "1").end(method === "HEAD" ? undefined : "<A>ü</A>");
    };
    answer().catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => behind.listen(0, "127.0.0.1", resolve));
  proxy = await startStoreProxy(`http://127.0.0.1:${(behind.address() as AddressInfo).port}`);
});

afterEach(async () => {
  await proxy.stop();
  behind.closeAllConnections();
  await new Promise((resolve) => behind.close(resolve));
});

test("what is signed passes as it was sent: method, query, Host and every byte of the body", async () => {
  const body = Buffer.from([0, 0xff, 0x0a, 0xc3, 0xbc]);
  const answer = await call("PUT", "/b/p%2Fq?tagging&x=%20", body);
  const host = new URL(proxy.endpoint).host;
  expect(heard).toEqual([{ method: "PUT", url: "/b/p%2Fq?tagging&x=%20", host, body: "00ff0ac3bc" }]);
  expect(answer).toMatchObject({ status: 200, body: "<A>ü</A>", headers: { "x-behind": "1" } });
  expect(proxy.requests.map(({ method, url }) => [method, url])).toEqual([["PUT", "/b/p%2Fq?tagging&x=%20"]]);
});

test("an answer in the store's place has its status, code and headers, and the store hears nothing", async () => {
  proxy.instead = ({ url }) => (url === "/slow" ? errorAnswer(503, "SlowDown", { "retry-after": "7" }) : undefined);
  const slow = await call("POST", "/slow");
  expect(slow).toMatchObject({ status: 503, headers: { "retry-after": "7" } });
  expect(slow.body).toContain("<Code>SlowDown</Code>");
  expect(heard).toEqual([]);
  expect(await call("POST", "/other")).toMatchObject({ status: 200 });
});

test("body and Date of an answer are changed; the answer to HEAD has none, nor a length", async () => {
  const date = "Thu, 01 Jan 1970 00:00:00 GMT";
  proxy.change = (answer) => ({
    ...answer,
    headers: { ...answer.headers, date },
    body: answer.body.replace("ü", "öö"),
  });
  expect(await call("GET", "/")).toMatchObject({ body: "<A>öö</A>", headers: { date, "content-length": "11" } });
  const head = await call("HEAD", "/");
  expect(head).toMatchObject({ status: 200, body: "", headers: { date } });
  expect(head.headers).not.toHaveProperty("content-length");
});

test("a connection is cut before the store hears of the request, or after it answered", async () => {
  const cut = () => {
    throw new Error("cut");
  };
  proxy.instead = cut;
  await expect(call("POST", "/before")).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(heard).toEqual([]);
  proxy.instead = () => undefined;
  proxy.change = cut;
  await expect(call("POST", "/after")).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(heard.map(({ url }) => url)).toEqual(["/after"]);
});

test("nobody answers, or half of a body comes, until the proxy stops", async () => {
  proxy.instead = ({ url }) => (url === "/hang" ? "hang" : undefined);
  proxy.change = () => "stall";
  const ends = Promise.allSettled([call("GET", "/hang"), call("GET", "/stall")]);
  await expect.poll(() => heard.map(({ url }) => url)).toEqual(["/stall"]);
  await expect.poll(() => proxy.requests.length).toBe(2);
  await proxy.stop();
  expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  proxy = await startStoreProxy(proxy.endpoint);
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

function call(method: string, path: string, body = Buffer.alloc(0)): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(proxy.endpoint + path, { method, agent: false }, (answer) => {
      const { statusCode: status = 0, headers } = answer;
      bytesOf(answer).then((bytes) => resolve({ status, headers, body: bytes.toString() }), reject);
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}
