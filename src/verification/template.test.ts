import { describe, expect, it } from "vitest";
import { compileTemplate, isDelimited, isTimestampBare } from "./template.ts";
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
