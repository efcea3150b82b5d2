import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes } from "../../support/operator/polling.ts";
import { HOST, type Tenant } from "../../support/operator/tenant.ts";

/** Who has a host and path, as the senders of events see it. */
export function claimsTests(release: () => OperatorRelease): void {
  let mine: Tenant;
  let theirs: Tenant;
  beforeAll(async () => {
    [mine, theirs] = await Promise.all([release().tenant(), release().tenant()]);
  });
  const place = () => ({ host: HOST, path: `/${randomUUID()}` });
  /** A destination that tells by its path which route has delivered. */
  const to = (name: string) => [{ name, url: `${release().receiver.url}/to-${name}`, allowInsecureHTTP: true }];

  /** Posts to a path until the event is delivered by this route. */
  async function servedBy(tenant: Tenant, path: string, name: string): Promise<void> {
    const { status, id } = await tenant.post("", undefined, path);
    expect(status).toBe(202);
    const delivered = () => release().receiver.received.find((one) => one.id === id)?.path;
    await becomes(delivered, `/to-${name}`);
  }

  describe.concurrent("a host and path", () => {
    test("is never taken over by a tenant that edits its route onto it, and that tenant's old path goes on", async () => {
      const [wanted, other] = [place(), place()];
      const [own, foreign] = [randomUUID(), randomUUID()];
      // The attacker's route is the older one.
      await theirs.route("older", { exposure: other, destinations: to(foreign) });
      await becomes(() => theirs.condition("older"), "True/Reconciled");
      await mine.route("victim", { exposure: wanted, destinations: to(own) });
      await becomes(() => mine.condition("victim"), "True/Reconciled");
      await theirs.patchRoute("older", { spec: { exposure: wanted } });
      await becomes(() => theirs.condition("older"), "False/HostPathConflict");
      expect(await mine.condition("victim")).toBe("True/Reconciled");
      await servedBy(mine, wanted.path, own);
      await servedBy(theirs, other.path, foreign);
    });

    test("goes to the next route of its namespace at once when its route is deleted", async () => {
      const exposure = place();
      const [first, second] = [randomUUID(), randomUUID()];
      await mine.route("first", { exposure, destinations: to(first) });
      await becomes(() => mine.condition("first"), "True/Reconciled");
      await mine.route("second", { exposure, destinations: to(second) });
      await becomes(() => mine.condition("second"), "False/HostPathConflict");
      await servedBy(mine, exposure.path, first);
      await mine.deleteRoute("first");
      await becomes(() => mine.condition("second"), "True/Reconciled");
      await servedBy(mine, exposure.path, second);
    });

    test("goes to another namespace only once it was held for its own", async () => {
      const exposure = place();
      const name = randomUUID();
      await mine.route("held", { exposure });
      await becomes(() => mine.condition("held"), "True/Reconciled");
      await theirs.route("waits", { exposure, destinations: to(name) });
      await becomes(() => theirs.condition("waits"), "False/HostPathConflict");
      await mine.deleteRoute("held");
      await becomes(() => theirs.message("waits"), expect.stringMatching(/stays with its namespace until/));
      await becomes(async () => (await theirs.post("", undefined, exposure.path)).status, 503);
      await becomes(() => theirs.condition("waits"), "True/Reconciled");
      await servedBy(theirs, exposure.path, name);
    });
  });
}
