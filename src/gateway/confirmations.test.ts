import { beforeEach, describe, expect, test } from "vitest";
import { FetchError, type FetchResponse } from "../egress/guarded-fetch.ts";
import { Confirmations } from "./confirmations.ts";

const ID = "https://sns.example/";
const url = (token: string) => `${ID}?Action=ConfirmSubscription&Token=${token}`;
const answer = (status: number): FetchResponse => ({ status, body: Buffer.alloc(0) });

let now: number;
let asked: string[];
let network: () => FetchResponse | Promise<FetchResponse>;
let confirmations: Confirmations;

beforeEach(() => {
  [now, asked] = [0, []];
  network = () => answer(200);
  confirmations = new Confirmations({
    fetch: async (request) => {
      asked.push(request.url);
      return await network();
    },
    clock: { now: () => now, monotonic: () => now },
  });
});
const confirm = (token: string) => confirmations.confirm(url(token), ID);
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a confirmation", () => {
  test("is asked for once, however often the same message comes within ten minutes", async () => {
    expect(await Promise.all(Array.from({ length: 50 }, () => confirm("a")))).toEqual(Array.from({ length: 50 }));
    now += 599_999;
    expect(await confirm("a")).toBeUndefined();
    expect(asked).toEqual([url("a")]);
    now += 1;
    await confirm("a");
    await confirm("b");
    expect(asked).toEqual([url("a"), url("a"), url("b")]);
  });

  test.each([
    ["another status", () => answer(400), `${ID} answered with status 400`],
    ["no answer", () => Promise.reject(new FetchError("timeout")), `${ID} could not be asked: timeout`],
  ])(
    "that got %s fails without a word of its token, and is tried again after ten seconds",
    async (_what, fails, detail) => {
      network = fails;
      const failure = { ok: false, status: 503, reason: "HandshakeFailed", detail };
      expect([await confirm("t0ken"), await confirm("t0ken")]).toEqual([failure, failure]);
      expect(asked).toHaveLength(1);
      now += 10_000;
      network = () => answer(204);
      expect(await confirm("t0ken")).toBeUndefined();
    },
  );

  test("waits while four others are under way, and fails when too many wait", async () => {
    const waiting: (() => void)[] = [];
    network = () => new Promise((resolve) => waiting.push(() => resolve(answer(200))));
    const results = Promise.all(Array.from({ length: 40 }, (_, n) => confirm(String(n))));
    await settled();
    expect(waiting).toHaveLength(4);
    while (asked.length < 36 || waiting.length > 0) {
      waiting.shift()?.();
      await settled();
    }
    const failed = (await results).filter((result) => result !== undefined);
    expect(failed.map(({ detail }) => detail)).toEqual(
      Array.from({ length: 4 }, () => `${ID}: too many confirmations are under way`),
    );
    // Those are not held against them.
    network = () => answer(200);
    expect(await confirm("39")).toBeUndefined();
  });

  test("remembers a thousand, no more", async () => {
    for (let n = 0; n < 1_025; n++) await confirm(String(n));
    await confirm("1024");
    expect(asked).toHaveLength(1_025);
    await confirm("0");
    expect(asked).toHaveLength(1_026);
  });
});
