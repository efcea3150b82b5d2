import { beforeAll, describe, expect, test } from "vitest";
import { becomes } from "../operator/polling.ts";
import { answers, applyRoute, type Driver, isServedBy } from "./driver.ts";

const TAKEN = /belongs to/;
const HELD = /stays with its namespace until/;

/** Who has a host and path, as the owners of routes and the senders of events see it. The driver holds a place for some seconds. */
export function conflictSuite(start: () => Driver): void {
  let driver: Driver;
  let mine: string;
  let theirs: string;
  beforeAll(() => {
    driver = start();
    [mine, theirs] = driver.namespaces;
  });

  const isServed = (path: string) => becomes(() => answers(driver, path), ["202"]);
  const isTold = (namespace: string, name: string, why: RegExp) =>
    becomes(() => driver.conflict(namespace, name), expect.stringMatching(why));
  const isContent = (namespace: string, name: string) => becomes(() => driver.conflict(namespace, name), "");

  describe.concurrent("claims", () => {
    describe("a host and path that another route wants", () => {
      test("stay with the one that has them; the other is told and gets nothing, until the first goes", async () => {
        const path = "/conflict/promoted";
        await applyRoute(driver, mine, "z-first", { path });
        await isServed(path);
        await applyRoute(driver, mine, "a-second", { path });
        await isTold(mine, "a-second", TAKEN);
        expect(await driver.conflict(mine, "z-first")).toBe("");
        await isServedBy(driver, path, `${mine}/z-first`);
        await driver.remove("WebhookRoute", mine, "z-first");
        await isContent(mine, "a-second");
        await isServed(path);
        await isServedBy(driver, path, `${mine}/a-second`);
      });

      test("are never taken over by a route that is edited onto them, which goes on where it was", async () => {
        const [path, old] = ["/conflict/victim", "/conflict/attacker"];
        // The attacker's route is the older one, and the first by its name.
        await applyRoute(driver, theirs, "attacker", { path: old });
        await isServed(old);
        await applyRoute(driver, mine, "victim", { path });
        await isServed(path);
        await applyRoute(driver, theirs, "attacker", { path });
        await isTold(theirs, "attacker", TAKEN);
        expect(await driver.conflict(mine, "victim")).toBe("");
        await isServedBy(driver, path, `${mine}/victim`);
        await isServedBy(driver, old, `${theirs}/attacker`);
        await applyRoute(driver, theirs, "attacker", { path: old });
        await isContent(theirs, "attacker");
        await isServedBy(driver, old, `${theirs}/attacker`);
      });
    });

    describe("the host and path of a route that was deleted", () => {
      test("are its again when it is made anew within the hold, whoever waits", async () => {
        const path = "/conflict/back";
        await applyRoute(driver, mine, "comes-back", { path });
        await isServed(path);
        await applyRoute(driver, theirs, "waits-in-vain", { path });
        await isTold(theirs, "waits-in-vain", TAKEN);
        await driver.remove("WebhookRoute", mine, "comes-back");
        await isTold(theirs, "waits-in-vain", HELD);
        await becomes(() => answers(driver, path), ["503"]);
        await applyRoute(driver, mine, "comes-back", { path });
        await isServed(path);
        await isTold(theirs, "waits-in-vain", TAKEN);
        await isServedBy(driver, path, `${mine}/comes-back`);
      });

      test("go to another namespace once the hold is over", async () => {
        const path = "/conflict/held";
        await applyRoute(driver, mine, "goes", { path });
        await isServed(path);
        await applyRoute(driver, theirs, "follows", { path });
        await isTold(theirs, "follows", TAKEN);
        await driver.remove("WebhookRoute", mine, "goes");
        await isTold(theirs, "follows", HELD);
        await becomes(() => answers(driver, path), ["503"]);
        await isContent(theirs, "follows");
        await isServed(path);
        await isServedBy(driver, path, `${theirs}/follows`);
      });
    });
  });
}
