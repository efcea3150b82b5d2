import { describe, expect, test } from "vitest";
import { devUid, entrySecretName, inlineDestinationId, routeKey, signingRingSecretName, tag } from "./names.ts";

describe("names", () => {
  test("a route's key depends on the namespace's UID, not on its name", () => {
    expect(routeKey("uid-1", "orders")).toMatch(/^[0-9a-f]{16}$/);
    expect(routeKey("uid-1", "orders")).toBe(routeKey("uid-1", "orders"));
    expect(routeKey("uid-2", "orders")).not.toBe(routeKey("uid-1", "orders"));
    expect(routeKey("uid-1o", "rders")).not.toBe(routeKey("uid-1", "orders"));
  });

  test("Secrets of two instances never share a name", () => {
    expect(entrySecretName("blue", "shop", "orders")).toMatch(/^davit-route-[0-9a-f]{16}$/);
    expect(entrySecretName("blue", "shop", "orders")).not.toBe(entrySecretName("green", "shop", "orders"));
    expect(signingRingSecretName("blue", "shop", "s", "k")).toMatch(/^davit-ring-[0-9a-f]{16}$/);
  });

  test("a namespace's tag is one hash slot", () => {
    expect(tag({ instance: "default", namespace: "shop" })).toBe("davit:default:{shop}");
    expect(inlineDestinationId("0123456789abcdef", "orders")).toBe("0123456789abcdef/orders");
  });

  test("an object without an API server keeps its UID over runs", () => {
    const uid = devUid("default", "Namespace", "", "shop");
    expect(uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(devUid("default", "Namespace", "", "shop")).toBe(uid);
    expect(devUid("default", "Namespace", "", "shop2")).not.toBe(uid);
  });
});
