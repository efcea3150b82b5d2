import { describe, expect, test } from "vitest";
import {
  destinationId,
  devUid,
  entrySecretName,
  idOfDestination,
  inlineDestinationId,
  routeKey,
  signingRingSecretName,
  tag,
} from "./names.ts";

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

  test("an id of any characters becomes a destination without blanks, slashes, colons and number signs, and comes back", () => {
    for (const id of [
      "acme-eu",
      "a b/c:d#e",
      "müller & söhne",
      "100%",
      "~tilde",
      "!'()*",
      "\u{1F600}",
      "\n",
      "x".repeat(128),
    ]) {
      const destination = destinationId(id) ?? "";
      expect(destination).toMatch(/^~[A-Za-z0-9._%-]+$/);
      expect(idOfDestination(destination)).toBe(id);
    }
    expect(destinationId("acme_EU.1-a")).toBe("~acme_EU.1-a");
    expect(destinationId("a b~")).toBe("~a%20b%7E");
    expect(destinationId("\u{1F600}".repeat(128))).toHaveLength(1_537);
  });

  test("what no WebhookDestination can bear as its id gives no destination", () => {
    for (const id of ["", "x".repeat(129), "\u{1F600}".repeat(129), "\ud800"])
      expect(destinationId(id)).toBeUndefined();
    for (const destination of ["0123456789abcdef/orders", "~", "~a%2", "~a b", "~%61"]) {
      expect(idOfDestination(destination)).toBeUndefined();
    }
  });
});
