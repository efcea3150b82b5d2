import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes } from "../../support/operator/polling.ts";
import { SIGNED, type Tenant } from "../../support/operator/tenant.ts";

/** What happens while no controller runs, and is made up for when one does. */
export function stoppedTests(release: () => OperatorRelease): void {
  describe("while the operator is stopped", () => {
    let shop: Tenant;
    let doomed: Tenant;
    const answers = (name: string, ...keys: readonly string[]) =>
      Promise.all(keys.map(async (key) => (await shop.postToAll(name, key)).join()));

    beforeAll(async () => {
      [shop, doomed] = await Promise.all([release().tenant(), release().tenant()]);
      for (const tenant of [shop, doomed]) {
        await tenant.secret("in", { key: "one" });
        for (const name of ["stays", "goes"]) await tenant.route(name, SIGNED);
        for (const name of ["stays", "goes"]) await becomes(() => tenant.condition(name), "True/Reconciled");
      }
      await release().scale("controller", 0);
    });
    afterAll(() => release().scale("controller", 1));

    test("a namespace with routes and workers can be deleted, and gateways serve on", async () => {
      const { admin } = release().cluster;
      const path = `/api/v1/namespaces/${doomed.namespace}`;
      await admin.delete(path);
      await becomes(async () => (await admin.request("GET", path)).status, 404);
      expect(await answers("stays", "one", "two")).toEqual(["202", "401"]);
    });

    test("changes of Secrets and routes take effect when it is back, and the key before the change stays for the overlap", async () => {
      await shop.secret("in", { key: "two" });
      await shop.deleteRoute("goes");
      await shop.route("comes", SIGNED);
      expect(await answers("stays", "one", "two")).toEqual(["202", "401"]);
      expect(await answers("goes", "one")).toEqual(["202"]);
      expect(await answers("comes", "one")).toEqual(["404"]);
      await release().scale("controller", 1);
      await becomes(() => answers("stays", "one", "two"), ["202", "202"]);
      // One that vanished a short time ago: some providers give up on 404.
      await becomes(() => answers("goes", "one"), ["503"]);
      await becomes(() => answers("comes", "one", "two"), ["401", "202"]);
      await becomes(() => doomed.publication("stays"), expect.objectContaining({ released: expect.anything() }));
    });
  });
}
