import { expect, test } from "vitest";
import { readRingSecret } from "./rings.ts";

const KEY = { id: "0123abcd", use: "Signing", state: "previous", since: 1, notAfter: 2, value: "czE=" };

function keysOf(keys: unknown) {
  const metadata = { namespace: "shop", name: "davit-ring-1", uid: "u", resourceVersion: "1" };
  const json = JSON.stringify({ schema: 1, minReader: 1, keys });
  return readRingSecret({ metadata, data: { "ring.json": Buffer.from(json).toString("base64") } }).keys;
}

test("a ring that somebody else wrote into is read without what is no key", () => {
  const broken = [null, 1, "key", {}, { ...KEY, value: 5 }, { ...KEY, since: "1" }, { ...KEY, notAfter: "2" }];
  expect(keysOf([...broken, KEY])).toEqual([KEY]);
  expect(keysOf({ 0: KEY })).toEqual([]);
});
