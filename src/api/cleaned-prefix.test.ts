import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCleaned, scopePrefix } from "./cleaned-prefix.ts";

describe("scopePrefix", () => {
  it("puts a scope in as it is", () => {
    expect(scopePrefix("a/{scope}/", "$&")).toBe("a/$&/");
  });
});

describe("isCleaned", () => {
  it.each([
    ["w/{scope}/", "w/{scope}/manifests/"],
    ["w/{scope}/", "w/wh-17/manifests/"],
    ["w/{scope}/", "w/manifests/"],
    ["w/{scope}/", "w/wh"],
    ["w/{scope}/", "w/"],
    ["w/{scope}/", "w"],
    ["w/{scope}/data/", "w/wh-17/"],
    ["w/{scope}/data/", "w/{scope}/data/m/"],
    ["w/{scope}/data/", "w/{scope}/da"],
    ["{scope}/", "manifests/{scope}/"],
  ])("of %s tells that %s is cleaned", (template, prefix) => {
    expect(isCleaned(template, prefix, [])).toBe(true);
  });

  it.each([
    ["w/{scope}/", "manifests/{scope}/"],
    ["w/{scope}/", "wx/"],
    ["w/{scope}/", "w//m/"],
    ["w/{scope}/", "w/.meta/"],
    ["w/{scope}/data/", "w/{scope}/manifests/"],
    ["w/{scope}/data/", "w/wh-17/database/"],
  ])("of %s tells that %s is not", (template, prefix) => {
    expect(isCleaned(template, prefix, [])).toBe(false);
  });

  it.each([
    ["w/{scope}/manifests/", ["w/{scope}/manifests/"], false],
    ["w/{scope}/manifests/", ["w/{scope}/"], false],
    ["w/wh-17/manifests/", ["w/{scope}/manifests/"], false],
    ["w/wh-17/manifests/", ["w/wh-17/manifests/"], false],
    ["w/{scope}/manifests/", ["w/wh-17/manifests/"], true],
    ["w/wh-17/manifests/", ["w/wh-18/manifests/"], true],
    ["w/{scope}/", ["w/{scope}/manifests/"], true],
  ] as const)("of %s, protected by %j, tells %j", (prefix, protectedPrefixes, expected) => {
    expect(isCleaned("w/{scope}/", prefix, protectedPrefixes)).toBe(expected);
  });

  it("tells of every prefix under which a key of a scope may lie", () => {
    const scope = fc.stringMatching(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,5}[A-Za-z0-9])?$/);
    const template = fc.constantFrom("{scope}/", "w/{scope}/", "a/b/{scope}/c/d/");
    const tail = fc.constantFrom("", "x", "m/x", "manifests/a/b");
    fc.assert(
      fc.property(scope, template, tail, fc.nat({ max: 60 }), (name, pattern, end, length) => {
        const prefix = (scopePrefix(pattern, name) + end).slice(0, length + 1);
        expect(isCleaned(pattern, prefix, [])).toBe(true);
      }),
    );
  });
});
