import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_EVENTS, readEnvelopes } from "./envelope-list.ts";

const read = (text: string) => readEnvelopes(Buffer.from(text));
const textsOf = (text: string) => {
  const elements = read(text);
  return typeof elements === "string" ? elements : elements.map(({ bytes }) => bytes.toString());
};

describe("the list of events in a request's body", () => {
  it("keeps each element as it was written: numbers, blanks, escapes and the order of keys", () => {
    const first = '{"n": 12345678901234567890.10, "a":"\\u00e9 \\" ] , }",\n "b":[{"c":[]}]}';
    const second = '{"type":"b","data":1e3}';
    expect(textsOf(` [ ${first} ,\t${second}\r\n] `)).toEqual([first, second]);
    expect(textsOf(`{"events": [${first},${second}] }\n`)).toEqual([first, second]);
    expect(textsOf(`{"\\u0065vents":[${second}]}`)).toEqual([second]);
  });

  it("finds the elements of any JSON list, however it is laid out", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { minLength: 1, maxLength: 8 }),
        fc.nat(4),
        fc.boolean(),
        (list, indent, wrapped) => {
          const elements = read(JSON.stringify(wrapped ? { events: list } : list, undefined, indent));
          expect(elements).toEqual(
            JSON.parse(JSON.stringify(list)).map((value: unknown) => ({ bytes: expect.any(Buffer), value })),
          );
          for (const { bytes, value } of elements as Exclude<typeof elements, string>)
            expect(JSON.parse(bytes.toString())).toEqual(value);
        },
      ),
    );
  });

  it("agrees with the JSON parser about what is JSON at all", () => {
    const pieces = fc.constantFrom("[", "]", "{", "}", ",", ":", '"', "\\", '"events"', "1", " ", "null", "a");
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        if (typeof read(text) === "string") return;
        expect(() => JSON.parse(text) as unknown).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["[{}", "NotJson"],
    ["[{},]", "NotJson"],
    ["[,{}]", "NotJson"],
    ["[{}] x", "NotJson"],
    ["[{}{}]", "NotJson"],
    ['[{"a":[1}]]', "NotJson"],
    ['[{"a":"', "NotJson"],
    ['["\\', "NotJson"],
    ["[1 2]", "NotJson"],
    ["[{}}]", "NotJson"],
    ["[\ufeff{}]", "NotJson"],
    ["", "NotAList"],
    ['{"type":"a","data":1}', "NotAList"],
    ['{"events":[{}],"more":1}', "NotAList"],
    ['{"events":{}}', "NotAList"],
    ['"events"', "NotAList"],
    ["[]", "NoEvents"],
    ['{"events":[]}', "NoEvents"],
  ])("refuses %j as %s", (text, fault) => {
    expect(read(text)).toBe(fault);
  });

  it("refuses bytes that are no UTF-8", () => {
    expect(readEnvelopes(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]))).toBe("NotJson");
  });

  it("takes 500 events and no more", () => {
    const list = (count: number) => JSON.stringify(Array.from({ length: count }, (_, n) => n));
    expect(read(list(MAX_EVENTS))).toHaveLength(500);
    expect(read(list(MAX_EVENTS + 1))).toBe("TooManyEvents");
  });
});
