import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JsonLines } from "./json-lines.ts";

test("values come out whole, wherever the chunks are cut, characters of several bytes included", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.array(fc.nat(40), { maxLength: 12 }), (values, cuts) => {
      const bytes = Buffer.from(values.map((value) => `${JSON.stringify({ value, sign: "ä€😊" })}\n`).join(""));
      const lines = new JsonLines();
      const found: unknown[] = [];
      let from = 0;
      for (const length of [...cuts, bytes.length]) {
        found.push(...lines.push(bytes.subarray(from, from + length)));
        from += length;
      }
      expect(found).toEqual(JSON.parse(JSON.stringify(values.map((value) => ({ value, sign: "ä€😊" })))));
    }),
  );
});

test("what comes before a broken line is not lost", () => {
  const found: unknown[] = [];
  expect(() => {
    for (const value of new JsonLines().push(Buffer.from('1\n\n{"a"\n2\n'))) found.push(value);
  }).toThrow(SyntaxError);
  expect(found).toEqual([1]);
});
