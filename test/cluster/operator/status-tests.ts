import { describe, expect, test } from "vitest";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes, measured } from "../../support/operator/polling.ts";
import { INGRESS_HOST, SIGNED, workersRedisSecret } from "../../support/operator/tenant.ts";

/** Readiness and its reasons. @param admission switches whether Ingresses are admitted */
export function statusTests(release: () => OperatorRelease, admission: { isOn: boolean }): void {
  describe.concurrent("a WebhookRoute that is applied", () => {
    test("becomes Ready, at once where workers run already, and its events are delivered", async () => {
      const shop = await release().tenant();
      await shop.secret("in", { key: "one" });
      await shop.route("first", SIGNED);
      await becomes(() => shop.condition("first"), "True/Reconciled");
      await measured("apply to Ready", async () => {
        await shop.route("orders", SIGNED);
        await becomes(() => shop.condition("orders"), "True/Reconciled");
      });
      expect((await shop.post("orders", "wrong")).status).toBe(401);
      const { status, id } = await shop.post("orders", "one");
      expect(status).toBe(202);
      await becomes(() => shop.deliveredTo("orders"), [id]);
    });

    test("is not Ready while workers cannot start, says so, and becomes Ready once they can", async () => {
      const shop = release().bareTenant(await release().cluster.namespace("shop"));
      release().startPodsOf(shop.namespace);
      await shop.route("orders");
      await becomes(() => shop.condition("orders"), "False/RedisSecretNotFound");
      await becomes(() => shop.condition("orders", "Programmed"), "True/Reconciled");
      const command = `kubectl create secret generic ${workersRedisSecret(release().name)} --namespace ${shop.namespace}`;
      const named = expect.stringContaining(command);
      await becomes(() => shop.message("orders"), named);
      const { id } = await shop.post("orders");
      await shop.redisSecret();
      await becomes(() => shop.condition("orders"), "True/Reconciled");
      await becomes(() => shop.deliveredTo("orders"), [id]);
    });

    test("is not Ready while its host's Ingress is not admitted, and says so", async () => {
      const shop = await release().tenant();
      const path = `/${shop.namespace}/orders`;
      await shop.route("orders", { exposure: { host: INGRESS_HOST, path } });
      await becomes(() => shop.condition("orders", "WorkersAvailable"), "True/Reconciled");
      await becomes(() => shop.condition("orders"), "False/IngressNotAdmitted");
      admission.isOn = true;
      await becomes(() => shop.condition("orders"), "True/Reconciled");
    });
  });
}
