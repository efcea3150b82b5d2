import { describe, expect, test } from "vitest";
import { checkRules } from "./cel-check.ts";
import type { StructuralSchema } from "./crd.ts";

const unchanged = { rule: "self == oldSelf", message: "is immutable" };

describe("checkRules", () => {
  const list: StructuralSchema = {
    type: "object",
    properties: {
      items: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          properties: { name: { type: "string" }, id: { type: "string", "x-kubernetes-validations": [unchanged] } },
        },
      },
    },
  };

  test("compares elements of a list map by their keys, wherever they stand", () => {
    const previous = {
      items: [
        { name: "a", id: "1" },
        { name: "b", id: "2" },
      ],
    };
    const object = {
      items: [
        { name: "b", id: "2" },
        { name: "a", id: "changed" },
        { name: "c", id: "new" },
      ],
    };
    expect(checkRules(list, object, previous, []).map(({ path }) => path)).toEqual(["items[1].id"]);
  });

  test("does not compare elements of an atomic list", () => {
    const items = { ...list.properties?.["items"], "x-kubernetes-list-type": "atomic" as const };
    const schema = { type: "object", properties: { items } };
    expect(checkRules(schema, { items: [{ name: "a", id: "2" }] }, { items: [{ name: "a", id: "1" }] }, [])).toEqual(
      [],
    );
  });

  test("leaves transition rules out when there is nothing to compare with", () => {
    expect(checkRules(list, { items: [{ name: "a", id: "1" }] }, undefined, [])).toEqual([]);
    expect(checkRules(list, { items: [{ name: "a", id: "1" }] }, { items: [{ name: "a" }] }, [])).toEqual([]);
  });

  test("reports a rule that cannot be evaluated instead of passing it", () => {
    const schema = { type: "object", "x-kubernetes-validations": [{ rule: "self.missing == 'a'", message: "m" }] };
    expect(checkRules(schema, {}, undefined, [])[0]?.message).toContain("could not be evaluated");
  });

  test("reports at the rule's fieldPath", () => {
    const schema = {
      type: "object",
      "x-kubernetes-validations": [{ rule: "false", message: "no", fieldPath: ".a.b" }],
    };
    const nested = { type: "object", properties: { spec: schema } };
    expect(checkRules(nested, { spec: {} }, undefined, [])).toEqual([
      { path: "spec.a.b", message: "no", source: "cel", severity: "error" },
    ]);
  });

  test("visits the values of a map", () => {
    const value = { type: "string", "x-kubernetes-validations": [{ rule: "self != 'bad'", message: "bad" }] };
    const schema = { type: "object", additionalProperties: value };
    expect(checkRules(schema, { good: "x", "no/name": "bad" }, undefined, [])[0]?.path).toBe("[no/name]");
  });
});
