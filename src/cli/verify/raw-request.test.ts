import { describe, expect, it } from "vitest";
import { parseRawRequest } from "./raw-request.ts";

const read = (text: string) => parseRawRequest("request.txt", Buffer.from(text, "latin1"));

describe("parseRawRequest", () => {
  it("reads a request line, headers with all their values, and the body byte for byte", () => {
    expect(read("POST /in?a=1 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\n\r\n\x00\r\n\r\n")).toEqual({
      method: "POST",
      target: "/in?a=1",
      headers: { host: ["h"], "x-a": ["1", "2"] },
      body: Buffer.from("\x00\r\n\r\n"),
    });
  });

  it("reads headers alone, with line feeds, and as curl -v shows them", () => {
    expect(read("X-A: 1\nX-B: b:c")).toEqual({ headers: { "x-a": ["1"], "x-b": ["b:c"] }, body: undefined });
    const shown = read("> POST / HTTP/1.1\n> X-A: 1\n> \n{}");
    expect(shown).toMatchObject({ method: "POST", headers: { "x-a": ["1"] }, body: Buffer.from("{}") });
  });

  it("puts a chunked body together, and leaves one alone that is not", () => {
    const head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(read(`${head}3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\n`).body?.toString()).toBe("abcde");
    expect(read(`${head}{"a":1}`).body?.toString()).toBe('{"a":1}');
  });

  it("refuses a line that is no header without showing all of it", () => {
    expect(() => read('{"secret":"0123456789012345678901234567890"}')).toThrow(
      /^-i: request.txt: .{0,30}…" is no header/,
    );
  });
});
