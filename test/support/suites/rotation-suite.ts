import { beforeAll, describe, expect, test } from "vitest";
import { REVOKE_ANNOTATION } from "../../../src/api/names.ts";
import type { WebhookRouteSpec } from "../../../src/api/generated/webhook-route.ts";
import { becomes } from "../operator/polling.ts";
import { answers, applyRoute, applySecret, type Driver } from "./driver.ts";

const SHORT = "8s";
const LONG = "1h";

/** What becomes of a route's keys when its Secret changes, as senders see it. */
export function rotationSuite(start: () => Driver): void {
  let driver: Driver;
  let namespace: string;
  beforeAll(() => {
    driver = start();
    [namespace] = driver.namespaces;
  });

  const secret = (name: string, values: Record<string, string>) => applySecret(driver, namespace, name, values);
  const statuses = (name: string, ...keys: string[]) => answers(driver, `/rotation/${name}`, ...keys);

  interface Signed extends Partial<WebhookRouteSpec> {
    readonly annotations?: Readonly<Record<string, string>>;
  }

  /** A route that checks signatures with the key of a Secret of its own name. */
  const route = (name: string, overlap: string, more: Signed = {}) =>
    applyRoute(driver, namespace, name, {
      path: `/rotation/${name}`,
      verification: { hmac: { header: "X-Signature" } },
      secretRefs: [{ name, key: "key" }],
      rotation: { overlap },
      ...more,
    });

  /** A route that is served with the key `one`. */
  async function begin(name: string, overlap: string): Promise<void> {
    await secret(name, { key: "one" });
    await route(name, overlap);
    await becomes(() => statuses(name, "one", "two"), ["202", "401"]);
  }

  describe.concurrent("key rings", () => {
    describe("a Secret that is changed", () => {
      test("has both keys accepted for the overlap, and only the new one after it", async () => {
        await begin("changed", SHORT);
        await secret("changed", { key: "two" });
        await becomes(() => statuses("changed", "two"), ["202"]);
        expect(await statuses("changed", "one")).toEqual(["202"]);
        await becomes(() => statuses("changed", "one", "two"), ["401", "202"]);
        await becomes(() => driver.keys(namespace, "changed"), ["current two"]);
      });

      test("twice within the overlap has all three keys accepted", async () => {
        await begin("twice", LONG);
        await secret("twice", { key: "two" });
        await becomes(() => statuses("twice", "two"), ["202"]);
        await secret("twice", { key: "three" });
        await becomes(() => statuses("twice", "one", "two", "three"), ["202", "202", "202"]);
        expect(await driver.keys(namespace, "twice")).toEqual(["current three", "previous two", "previous one"]);
      });

      test("more often than a ring has room loses the oldest previous key", async () => {
        await begin("often", LONG);
        const values = ["two", "three", "four", "five", "six"];
        for (const value of values) {
          await secret("often", { key: value });
          await becomes(() => statuses("often", value), ["202"]);
        }
        await becomes(() => statuses("often", "one"), ["401"]);
        expect(await statuses("often", ...values)).toEqual(values.map(() => "202"));
        expect(await driver.keys(namespace, "often")).toHaveLength(5);
      });

      test("loses its previous keys at once when the annotation says so, and the next ones stay", async () => {
        await begin("revoked", LONG);
        await secret("revoked", { key: "two" });
        await becomes(() => statuses("revoked", "two"), ["202"]);
        const annotations = { [REVOKE_ANNOTATION]: new Date().toISOString() };
        await route("revoked", LONG, { annotations });
        await becomes(() => statuses("revoked", "one", "two"), ["401", "202"]);
        await secret("revoked", { key: "three" });
        await becomes(() => statuses("revoked", "three"), ["202"]);
        expect(await driver.keys(namespace, "revoked")).toEqual(["current three", "previous two"]);
      });
    });

    describe("a line end after the value of a Secret", () => {
      test.each([
        ["LF", "\n"],
        ["CRLF", "\r\n"],
      ])("(%s) is not part of the key, and no rotation when it is added", async (name, end) => {
        const key = `ends-in-${name.toLowerCase()}`;
        await begin(key, LONG);
        await secret(key, { key: `one${end}`, other: "shows that the change was seen" });
        await route(key, LONG, { secretRefs: ["key", "other"].map((ref) => ({ name: key, key: ref })) });
        await becomes(() => statuses(key, "one", "shows that the change was seen"), ["202", "202"]);
        expect(await driver.keys(namespace, key)).toEqual(["current one", "previous shows that the change was seen"]);
      });
    });

    describe("a key that is announced", () => {
      test("as `.next` is accepted in advance, and becomes the current one without a gap", async () => {
        await begin("ahead", LONG);
        await secret("ahead", { key: "one", "key.next": "two" });
        await becomes(() => statuses("ahead", "one", "two"), ["202", "202"]);
        expect(await driver.keys(namespace, "ahead")).toEqual(["current one", "next two"]);
        await secret("ahead", { key: "two" });
        await becomes(() => driver.keys(namespace, "ahead"), ["current two", "previous one"]);
        expect(await statuses("ahead", "one", "two")).toEqual(["202", "202"]);
      });

      test("to end at a time ends then, not an overlap later", async () => {
        await secret("ends", { key: "new", old: "old" });
        const notAfter = new Date(Date.now() + 15_000).toISOString();
        const secretRefs = [
          { name: "ends", key: "key" },
          { name: "ends", key: "old", notAfter },
        ];
        await route("ends", LONG, { secretRefs });
        await becomes(() => driver.keys(namespace, "ends"), ["current new", "previous old"]);
        await becomes(() => statuses("ends", "old", "new"), ["401", "202"]);
        expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(notAfter));
        await becomes(() => driver.keys(namespace, "ends"), ["current new"]);
      });
    });

    describe("a Secret that goes", () => {
      test.each([
        ["deleted", () => driver.remove("Secret", namespace, "deleted")],
        ["emptied", () => secret("emptied", {})],
      ] as const)("(%s) leaves its key for the overlap; then senders are told to try again", async (name, go) => {
        await begin(name, SHORT);
        await go();
        await becomes(() => driver.keys(namespace, name), ["previous one"]);
        await becomes(() => statuses(name, "one"), ["503"]);
        await secret(name, { key: "two" });
        await becomes(() => statuses(name, "one", "two"), ["401", "202"]);
      });

      test("and is made anew within the overlap is a rotation like any other", async () => {
        await begin("anew", LONG);
        await driver.remove("Secret", namespace, "anew");
        await becomes(() => driver.keys(namespace, "anew"), ["previous one"]);
        await secret("anew", { key: "two" });
        await becomes(() => statuses("anew", "one", "two"), ["202", "202"]);
        expect(await driver.keys(namespace, "anew")).toEqual(["current two", "previous one"]);
      });
    });
  });
}
