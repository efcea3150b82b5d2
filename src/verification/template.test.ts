import { describe, expect, it } from "vitest";
import { compileTemplate, fieldForm, isDelimited, isTimestampBare } from "./template.ts";
import type { TimestampUnit } from "./timestamp.ts";

describe("a template", () => {
  it("is text and placeholders, text as one character a byte", () => {
    expect(compileTemplate("v0:é{timestamp}:{header:X-Team}{body}")).toEqual([
      { type: "literal", text: "v0:Ã©" },
      { type: "timestamp" },
      { type: "literal", text: ":" },
      { type: "header", name: "x-team" },
      { type: "body" },
    ]);
  });

  it.each(["{Body}", "{}", "{header:}", "{header:a b}", "{url }"])("knows no %s", (placeholder) => {
    expect(() => compileTemplate(placeholder)).toThrowError(expect.objectContaining({ code: "UnknownPlaceholder" }));
  });
});

describe("where a piece ends", () => {
  it.each([
    ["{id}.{body}", "seconds", true],
    ["{id}{body}", "seconds", false],
    ["{body}{id}", "seconds", false],
    ["{header:a}{id}.{body}", "seconds", false],
    ["{path}{id}.{body}", "seconds", false],
    ["{method}{url}{id}.{body}", "seconds", true],
    ["{id}{timestamp}{body}", "seconds", true],
    ["{id}{timestamp}{body}", "rfc3339", true],
    ["{id}{timestamp}{body}", undefined, false],
    ["{body}.{id}", undefined, true],
  ] satisfies readonly (readonly [string, TimestampUnit | undefined, boolean])[])(
    "is certain for the id of %s with %s: %s",
    (template, unit, expected) => {
      const segments = compileTemplate(template);
      const index = segments.findIndex(({ type }) => type === "id");
      expect(isDelimited(segments, index, unit)).toBe(expected);
    },
  );

  it.each([
    ["{id}.{timestamp}.{body}", "msg_1-a:b/c", "a.b"],
    ["{id}:{body}", "a.b", "a:b"],
    ["{id}-{body}", "a-b", "a-{"],
    ["{id}{timestamp}{body}", "befa7b53-d79d", "befa:"],
    ["{id}{body}", "a_b-1", "a.b"],
    ["{body}.{id}", "a:b", "b.c"],
    ["{header:x-a}.{body}", 'é {"x"', "a.b"],
    ["{header:x-a}{body}", "text/plain; charset=utf-8", "a{"],
    ["{header:x-a}{body}", "a b", 'a"'],
    ["{header:x-a}{body}", "", "["],
    ["{header:x-a}\n{body}", "a.b", "a\nb"],
    ["{header:x-a}]^\\{body}", "a[b", "a^b"],
  ])("%s lets a field be %s and not %s, whose end could be moved", (template, good, bad) => {
    const segments = compileTemplate(template);
    const index = segments.findIndex(({ type }) => type === "id" || type === "header");
    const form = fieldForm(segments, index);
    expect([form.test(good), form.test(bad)]).toEqual([true, false]);
  });

  it("takes no id of any length", () => {
    const form = fieldForm(compileTemplate("{id}.{body}"), 0);
    expect([form.test("a".repeat(256)), form.test("a".repeat(257)), form.test("")]).toEqual([true, false, false]);
  });

  it.each([
    ["{timestamp}{body}", true],
    ["{body}{timestamp}", true],
    ["{id}{timestamp}.{body}", true],
    ["{timestamp}.{body}", false],
    ["v0:{timestamp}:{body}", false],
    ["{body}", false],
  ])("must follow from the timestamp's length in %s: %s", (template, expected) => {
    expect(isTimestampBare(compileTemplate(template))).toBe(expected);
  });
});
