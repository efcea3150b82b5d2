import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ENDPOINTS } from "../../src/console/endpoints.ts";
import { apiDescription } from "../support/api-schema.ts";
import {
  call,
  freshNamespace,
  knownRoute,
  startConsole,
  type TestConsole,
  TestDirectory,
  tokenFor,
} from "../support/console.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const ROUTE = "00112233445566aa";

/** Of the description, those that gateways serve. */
const OF_GATEWAYS: readonly string[] = ["publishEvents", "getCleanupRun"];

let redis: TestRedis;
let running: TestConsole;
let namespace = "";
let rejections = "";
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  namespace = freshNamespace();
  rejections = `/v1/namespaces/${namespace}/routes/orders/rejections`;
  running = await startConsole(redis, new TestDirectory([knownRoute(namespace, "orders", ROUTE)]));
});
afterEach(() => running.close());

describe("the console", () => {
  it("serves exactly what is described, and describes what it serves", () => {
    const described = Object.entries(apiDescription.paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([method]) => ["get", "post", "put", "delete", "patch"].includes(method))
        .map(([method, operation]) => `${method.toUpperCase()} ${path} ${operation.operationId}`),
    );
    const served = ENDPOINTS.map(({ method, path, operation }) => `${method} ${path} ${operation}`);
    const ofGateways = described.filter((line) => OF_GATEWAYS.some((operation) => line.endsWith(` ${operation}`)));
    expect(served.toSorted()).toEqual(described.filter((line) => !ofGateways.includes(line)).toSorted());
    expect(ofGateways).toHaveLength(OF_GATEWAYS.length);
  });

  it("lists what a route refused, newest first, with names and hashes only", async () => {
    const inbox = running.store.inbox({ instance: "default", namespace });
    for (const at of [1_000, 2_000]) {
      inbox.reject({
        route: ROUTE,
        at,
        client: "192.0.2.1",
        status: 401,
        reason: "SignatureMismatch",
        headerNames: ["x-signature"],
        bodyBytes: 3,
        bodySha256: "ab".repeat(32),
      });
    }
    await expect.poll(async () => (await call(running, rejections)).body.items).toHaveLength(2);
    const { status, headers, body } = await call(running, rejections);
    expect(status).toBe(200);
    expect(body.items[0]).toEqual({
      at: "1970-01-01T00:00:02.000Z",
      client: "192.0.2.1",
      status: 401,
      reason: "SignatureMismatch",
      headerNames: ["x-signature"],
      bodyBytes: 3,
      bodySha256: "ab".repeat(32),
    });
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    expect(headers.has("access-control-allow-origin")).toBe(false);
    expect(headers.has("x-powered-by")).toBe(false);
  });

  it("asks for a token, then for rights, and only then says what exists", async () => {
    const nowhere = `/v1/namespaces/${namespace}/routes/nothing/rejections`;
    const [none, unknown, lost] = await Promise.all(
      ["", "unknown", "lost"].map((token) => call(running, nowhere, { token })),
    );
    expect([none?.status, none?.body.error, none?.headers.get("www-authenticate")]).toEqual([
      401,
      "TokenMissing",
      'Bearer realm="davit"',
    ]);
    expect([unknown?.status, unknown?.body.error]).toEqual([401, "TokenRefused"]);
    expect([lost?.status, lost?.body.error, lost?.headers.get("retry-after")]).toEqual([503, "AccessUnknown", "5"]);
    const right = `list webhookroutes/rejections ${namespace}/`;
    const others = await call(running, nowhere, { token: tokenFor(`${right}orders`) });
    expect([others.status, others.body.error]).toEqual([403, "NotAllowed"]);
    const own = await call(running, nowhere, { token: tokenFor(`${right}nothing`) });
    expect([own.status, own.body.error]).toEqual([404, "NoSuchRoute"]);
    expect((await call(running, rejections, { token: tokenFor(right) })).status).toBe(200);
  });

  it("is not ready before it knows what there is", async () => {
    running.directory.isReady = false;
    const { status, body, headers } = await call(running, rejections);
    expect([status, body.error, headers.get("retry-after")]).toEqual([503, "NotReady", "2"]);
  });

  it("names the methods of a path, and knows no other path", async () => {
    const { status, headers } = await call(running, rejections, { method: "DELETE" });
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await call(running, rejections, { method: "OPTIONS" })).status).toBe(405);
    expect((await call(running, rejections, { method: "HEAD" })).status).toBe(200);
    for (const path of [
      "/",
      "/v1",
      `${rejections}/`,
      "/v1/namespaces/%zz/routes/a/rejections",
      rejections.toUpperCase(),
    ])
      expect([path, (await call(running, path)).status]).toEqual([path, 404]);
  });

  it("answers 503 and says so in the log when something breaks that should not", async () => {
    running.directory.route = () => {
      throw new Error("broken");
    };
    const { status, body, headers } = await call(running, rejections);
    expect([status, body.error, headers.get("retry-after")]).toEqual([503, "Unexpected", "5"]);
    expect(running.log()).toMatchObject([{ level: 50, operation: "listRejections", err: { message: "broken" } }]);
    running.directory.route = (name) => ({ ...knownRoute(name, "orders", ROUTE), route: ROUTE });
    running.store.ledger = () => {
      const circular: unknown[] = [];
      circular.push(circular);
      return { rejections: async () => [{ at: 1, headerNames: circular }] } as never;
    };
    expect((await call(running, rejections)).body.error).toBe("Unexpected");
  });

  it("counts requests by operation and status", async () => {
    await call(running, rejections);
    await call(running, rejections, { token: "" });
    await call(running, "/nothing");
    const { values } = await running.metrics.apiRequests.get();
    expect(values.map(({ labels, value }) => [labels.endpoint, labels.code, value])).toEqual([
      ["listRejections", "200", 1],
      ["listRejections", "401", 1],
      ["", "404", 1],
    ]);
  });
});
