import { describe, expect, it } from "vitest";
import { idAt, parseExact, parseJson, pointerTokens, valueAt } from "./json-source.ts";

function idOf(text: string, pointer = "/id"): string | undefined {
  const body = Buffer.from(text);
  const parsed = parseJson(body);
  return parsed.ok ? idAt(parsed.value, pointerTokens(pointer), () => parseExact(body)) : "not JSON";
}

describe("parseJson", () => {
  it("ignores a byte order mark", () => {
    expect(parseJson(Buffer.from('\ufeff{"a":1}'))).toEqual({ ok: true, value: { a: 1 } });
  });

  it.each([
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["UTF-16", Buffer.from("{}", "utf16le")],
    ["nothing", Buffer.alloc(0)],
    ["NaN", Buffer.from("NaN")],
    ["a megabyte of open brackets", Buffer.alloc(1_048_576, "[")],
  ])("refuses %s", (_name, body) => {
    expect(parseJson(body)).toEqual({ ok: false });
  });
});

describe("valueAt", () => {
  it("follows tokens, escapes and array places", () => {
    expect(valueAt({ "a/b": [{ "~": 7 }] }, pointerTokens("/a~1b/0/~0"))).toBe(7);
  });

  it("finds own properties only", () => {
    expect(valueAt({}, pointerTokens("/constructor"))).toBeUndefined();
    expect(valueAt([], pointerTokens("/length/x"))).toBeUndefined();
    expect(valueAt("text", pointerTokens("/0"))).toBeUndefined();
  });

  it("needs a leading slash", () => {
    expect(() => pointerTokens("id")).toThrow(RangeError);
  });
});

describe("idAt", () => {
  it.each([
    ['{"id":"evt_1"}', "evt_1"],
    ['{"id":7}', "7"],
    ['{"id":""}', undefined],
    ['{"id":null}', undefined],
    ['{"id":true}', undefined],
    ['{"id":{"a":1}}', undefined],
    ["{}", undefined],
    ["[]", undefined],
  ])("of %s is %s", (text, id) => {
    expect(idOf(text)).toBe(id);
  });

  it("keeps neighbours beyond 2^53 apart", () => {
    expect(idOf('{"id":9007199254740992}')).toBe("9007199254740992");
    expect(idOf('{"id":9007199254740993}')).toBe("9007199254740993");
    expect(idOf('{"data":{"id":12345678901234567890}}', "/data/id")).toBe("12345678901234567890");
  });

  it.each([
    ['{"id":1.50}', "1.50"],
    ['{"id":1e3000}', "1e3000"],
    ['{"id":-9007199254740993}', "-9007199254740993"],
    ['{"a":"7 \\" 8","id":1.5}', "1.5"],
    ['{"a":"\\\\","id":1.5}', "1.5"],
    ['{"id":2,"id":1.5}', "1.5"],
  ])("of %s is the number as it stands there", (text, id) => {
    expect(idOf(text)).toBe(id);
  });

  it("is found in a body however deep, and however full of escapes and numbers", () => {
    const around = (inner: string) => idOf(`{"x":${inner},"id":9007199254740993}`);
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const escapes = `"${String.raw`\n`.repeat(500_000)}"`;
    const numbers = `[${"1,".repeat(200_000)}1]`;
    expect([deep, escapes, numbers].map(around)).toEqual(Array.from({ length: 3 }, () => "9007199254740993"));
  });

  it("asks for the exact numbers only where a double may have rounded, and goes without when it may not ask", () => {
    let asked = 0;
    const counted = () => {
      asked += 1;
      return { id: "1.0" };
    };
    expect([{ id: "evt" }, { id: 7 }, {}].map((value) => idAt(value, ["id"], counted))).toEqual([
      "evt",
      "7",
      undefined,
    ]);
    expect(asked).toBe(0);
    expect(idAt({ id: 1.5 }, ["id"], counted)).toBe("1.0");
    expect(asked).toBe(1);
    expect([{ id: "evt" }, { id: 7 }, { id: 1.5 }].map((value) => idAt(value, ["id"]))).toEqual([
      "evt",
      "7",
      undefined,
    ]);
  });
});

describe("parseExact", () => {
  it("leaves strings as they are and makes every number its source text", () => {
    const text = '\ufeff{"a":[1.0,-0,1E+2,"1.0 \\u00e9 \\" 5"],"7":true,"n":null,"\u2028":"\u2029"}';
    expect(parseExact(Buffer.from(text))).toEqual({
      a: ["1.0", "-0", "1E+2", '1.0 é " 5'],
      "7": true,
      n: null,
      "\u2028": "\u2029",
    });
  });

  it.each([
    ["no JSON", "[1"],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0x22])],
  ])("finds nothing in %s", (_case, body) => {
    expect(parseExact(Buffer.from(body))).toBeUndefined();
  });
});
