import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { conflictSuite } from "../support/suites/conflict-suite.ts";
import { DevDriver } from "../support/suites/dev-driver.ts";
import { answers, applyRoute, applySecret, isServedBy } from "../support/suites/driver.ts";
import { rotationSuite } from "../support/suites/rotation-suite.ts";
import { becomes } from "../support/operator/polling.ts";

// A restart takes seconds on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

describe("davit dev", () => {
  let driver: DevDriver;
  beforeAll(async () => {
    driver = await new DevDriver("10s").start();
  });
  afterAll(() => driver.stop());

  rotationSuite(() => driver);
  conflictSuite(() => driver);
});

describe("davit dev, over a restart", () => {
  let driver: DevDriver;
  beforeAll(async () => {
    driver = await new DevDriver("1h").start();
  });
  afterAll(() => driver.stop());
  const keys = () => driver.keys("mine", "signed");

  test("keeps who has a place, and holds what is free, also of a route that goes meanwhile", async () => {
    await applyRoute(driver, "mine", "z", { path: "/x" });
    await becomes(() => answers(driver, "/x"), ["202"]);
    await driver.restart(() => applyRoute(driver, "mine", "a", { path: "/x" }));
    await isServedBy(driver, "/x", "mine/z");
    expect(await driver.conflict("mine", "a")).toContain("/x belongs to mine/z");
    expect(driver.stderr()).toContain("mine/a is not served: HostPathConflict");
    await driver.remove("WebhookRoute", "mine", "a");
    await driver.restart(async () => {
      await driver.remove("WebhookRoute", "mine", "z");
      await applyRoute(driver, "theirs", "stranger", { path: "/x" });
    });
    expect(await driver.conflict("theirs", "stranger")).toContain("stays with its namespace");
    await driver.restart();
    expect(await driver.conflict("theirs", "stranger")).toContain("stays with its namespace");
    await applyRoute(driver, "mine", "again", { path: "/x" });
    await becomes(() => answers(driver, "/x"), ["202"]);
    await isServedBy(driver, "/x", "mine/again");
  });

  test("carries a command to revoke keys out once", async () => {
    const signed = (annotations: Record<string, string>) =>
      applyRoute(driver, "mine", "signed", {
        path: "/signed",
        annotations,
        verification: { hmac: { header: "X-Signature" } },
        secretRefs: [{ name: "in", key: "key" }],
      });
    const revoke = { "davit.dev/revoke-previous-at": "2026-01-01T00:00:00Z" };
    await applySecret(driver, "mine", "in", { key: "one" });
    await signed({});
    await becomes(keys, ["current one"]);
    await applySecret(driver, "mine", "in", { key: "two" });
    await becomes(keys, ["current two", "previous one"]);
    await signed(revoke);
    await becomes(keys, ["current two"]);
    await driver.restart(() => applySecret(driver, "mine", "in", { key: "three" }));
    expect(await keys()).toEqual(["current three", "previous two"]);
  });
});
