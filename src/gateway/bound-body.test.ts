import { describe, expect, it } from "vitest";
import { boundBody } from "./bound-body.ts";
import { RequestView } from "./request-view.ts";

function bound(body: string, ...except: readonly (readonly string[])[]): string {
  const view = new RequestView({ method: "POST", rawHeaders: [] }, "/", "");
  view.body = Buffer.from(body);
  return boundBody(view, except).toString();
}

describe("the body that an id is bound to", () => {
  it("is its bytes unless attempts differ in it", () => {
    expect(bound('{ "a" : 1 }')).toBe('{ "a" : 1 }');
  });

  it.each([
    ["a field", '{"signature":{"token":"1"},"event-data":{"id":"e"}}', ["signature"], '{"event-data":{"id":"e"}}'],
    ["a field within a field", '{"a":{"b":1,"c":2},"d":3}', ["a", "b"], '{"d":"3","a":{"c":"2"}}'],
    ["nothing that is not there", '{"a":{"c":true}}', ["a", "b"], '{"a":{"c":true}}'],
    ["nothing of a list", '{"a":[1,2]}', ["a", "0"], '{"a":["1","2"]}'],
    ["the last field of that name, which is the one that counts", '{"s":1,"s":2,"a":3}', ["s"], '{"a":"3"}'],
    ["nothing of what is no JSON", "s=1&a=2", ["s"], "s=1&a=2"],
    ["all of it", '{"a":1}', [], ""],
  ])("is written without %s", (_what, body, tokens, expected) => {
    expect(bound(body, tokens)).toBe(expected);
  });

  it("keeps every digit of a number", () => {
    const [one, other] = ["9007199254740992", "9007199254740993"].map((n) => bound(`{"id":${n},"s":1}`, ["s"]));
    expect(one).not.toBe(other);
  });

  it("is its bytes where it is too deep to be written", () => {
    const deep = `{"s":1,"a":${"[".repeat(60_000)}${"]".repeat(60_000)}}`;
    expect(bound(deep, ["s"])).toBe(deep);
  });

  it("may hold fields that every object has", () => {
    expect(bound('{"__proto__":{"a":1},"s":1}', ["s"])).toBe('{"__proto__":{"a":"1"}}');
  });
});
