import { describe, expect, test } from "vitest";
import { exposureName } from "../../../src/api/names.ts";
import { PATCH } from "../../support/control-plane/client.ts";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes } from "../../support/operator/polling.ts";
import { INGRESS_HOST } from "../../support/operator/tenant.ts";
import { recordVersions } from "../../support/operator/versions.ts";

/** What Davit makes for routes, when others change it. */
export function childrenTests(release: () => OperatorRelease): void {
  const admin = () => release().cluster.admin;
  const specOf = async (path: string) => (await admin().get(path))["spec"];

  describe.concurrent("children", () => {
    test("of workers are restored when somebody edits or deletes them, and nothing of the event path notices", async () => {
      const shop = await release().tenant();
      await shop.route("orders");
      await becomes(() => shop.condition("orders"), "True/Reconciled");
      const name = release().workersOf(shop.namespace);
      const inShop = (group: string, kind: string) => `/${group}/namespaces/${shop.namespace}/${kind}/${name}`;
      const role = inShop("apis/rbac.authorization.k8s.io/v1", "roles");
      const account = inShop("api/v1", "serviceaccounts");
      const config = inShop("api/v1", "secrets").concat("-0");
      const { template } = await specOf(shop.workers());
      const { image } = template.spec.containers[0];
      const edited = { containers: [{ name: "worker", image: "elsewhere.example.com/davit:0" }] };
      const { rules } = await admin().get(role);
      const { data } = await admin().get(config);
      await admin().must("PATCH", shop.workers(), { spec: { template: { spec: edited } } }, PATCH.strategic);
      await admin().patch(role, { rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }] });
      await admin().patch(config, { data: { "config.json.gz": "" } });
      await admin().delete(account);
      await becomes(async () => (await specOf(shop.workers())).template.spec.containers[0].image, image);
      await becomes(async () => (await admin().get(role))["rules"], rules);
      await becomes(async () => (await admin().get(config))["data"], data);
      await becomes(async () => (await admin().request("GET", account)).status, 200);
      await becomes(() => shop.condition("orders"), "True/Reconciled");
      const { id } = await shop.post("orders");
      await becomes(() => shop.deliveredTo("orders"), [id]);
    });

    test("that expose a host are restored when somebody edits or deletes them", async () => {
      const shop = await release().tenant();
      await shop.route("orders", { exposure: { host: INGRESS_HOST, path: `/${shop.namespace}/orders` } });
      const name = exposureName(release().instance, INGRESS_HOST, "/");
      const path = `/apis/networking.k8s.io/v1/namespaces/${release().namespace}/ingresses/${name}`;
      await becomes(async () => (await admin().request("GET", path)).status, 200);
      const spec = await specOf(path);
      await admin().must(
        "PATCH",
        path,
        [{ op: "replace", path: "/spec/rules/0/host", value: "x.example.com" }],
        PATCH.json,
      );
      await becomes(() => specOf(path), spec);
      await admin().delete(path);
      await becomes(async () => (await admin().request("GET", path)).status, 200);
      expect(await specOf(path)).toEqual(spec);
    });

    test("keep their replicas when autoscaling goes on and off", async () => {
      // Nothing starts these Pods: what counts is the number that is asked for.
      const shop = release().bareTenant(await release().cluster.namespace("shop"));
      await shop.route("big", { worker: { dedicated: { replicas: 10 } } });
      await becomes(async () => (await admin().request("GET", shop.workers("big"))).status, 200);
      const versions = recordVersions(release().cluster, shop.workers("big"));
      const owner = async () => (await admin().get(shop.workers("big"))).metadata.annotations?.["davit.dev/replicas"];
      try {
        await becomes(owner, "davit");
        for (const type of ["HPA", "KEDA", "External"] as const) {
          const dedicated = { replicas: null, autoscaling: { type, min: 2, max: 20 } };
          await shop.patchRoute("big", { spec: { worker: { dedicated } } });
          await becomes(owner, "autoscaler");
          await shop.patchRoute("big", { spec: { worker: { dedicated: { replicas: 10, autoscaling: null } } } });
          await becomes(owner, "davit");
        }
        await shop.patchRoute("big", {
          spec: { worker: { dedicated: { autoscaling: { type: "HPA", min: 2, max: 20 } } } },
        });
        await becomes(owner, "autoscaler");
        // The autoscaler's turn, and then it is switched off again: down in steps, and never below what is asked for.
        await admin().patch(`${shop.workers("big")}/scale`, { spec: { replicas: 14 } });
        await shop.patchRoute("big", { spec: { worker: { dedicated: { replicas: 10, autoscaling: null } } } });
        await becomes(owner, expect.stringMatching(/^stepping /));
      } finally {
        await versions.stop();
      }
      const counts = versions.objects.map(({ spec }) => spec.replicas as number);
      expect(new Set(counts)).toEqual(new Set([10, 14]));
      expect(counts.at(-1)).toBe(14);
    });
  });
}
