import { describe, expect, it } from "vitest";
import { idAt, parseJson, pointerTokens, valueAt } from "./json-source.ts";

function idOf(text: string, pointer = "/id"): string | undefined {
  const body = Buffer.from(text);
  const parsed = parseJson(body);
  return parsed.ok ? idAt(parsed.value, pointerTokens(pointer), body) : "not JSON";
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
});
