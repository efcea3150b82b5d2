import { describe, expect, test } from "vitest";
import { isNewer } from "../../kube/resource-version.ts";
import { FreshStore } from "./fresh-store.ts";

const at = (resourceVersion: string, text = "") => ({ resourceVersion, text });

describe("FreshStore", () => {
  test("keeps what was written until the watch has come that far", () => {
    const store = new FreshStore<ReturnType<typeof at>>();
    store.put("a", at("10"));
    expect(store.put("a", at("12", "written here"))).toBe(true);
    expect(store.put("a", at("11", "older, from the watch"))).toBe(false);
    expect(store.get("a")?.text).toBe("written here");
    expect(store.put("a", at("100", "newer"))).toBe(true);
    expect(store.get("a")?.text).toBe("newer");
  });

  test("takes the watch's copy of the same version, and says that it is no news", () => {
    const store = new FreshStore<ReturnType<typeof at>>();
    store.put("a", at("12", "written here"));
    expect(store.put("a", at("12", "the watch's copy"))).toBe(false);
    expect(store.get("a")?.text).toBe("the watch's copy");
  });

  test("does not bring back what this process deleted", () => {
    const store = new FreshStore<ReturnType<typeof at>>();
    store.put("a", at("12"));
    store.drop("a");
    expect(store.put("a", at("11"))).toBe(false);
    expect(store.put("a", at("12"))).toBe(false);
    expect(store.size).toBe(0);
    expect(store.put("a", at("13", "made anew"))).toBe(true);
  });

  test("keeps what was made anew when the watch tells of the old one's end", () => {
    const store = new FreshStore<ReturnType<typeof at>>();
    store.put("a", at("12"));
    store.put("a", at("20", "made anew"));
    expect(store.gone("a", "12")).toBe(false);
    expect(store.get("a")?.text).toBe("made anew");
    expect(store.gone("a", "20")).toBe(true);
    expect(store.gone("a", "20")).toBe(false);
  });
});

describe("isNewer", () => {
  test.each([
    ["10", "9", true],
    ["9", "10", false],
    ["10", "10", false],
    ["abc", "10", true],
    ["10", "abc", true],
    ["abc", "abc", false],
  ])("%s over %s: %s", (version, than, expected) => {
    expect(isNewer(version, than)).toBe(expected);
  });
});
