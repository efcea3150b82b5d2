import { describe, expect, test } from "vitest";
import { renderChart } from "../support/chart.ts";
import type { KubeObject } from "../support/control-plane/client.ts";

/** Secret and key from which a role takes its Redis URL. */
function urlOf(objects: readonly KubeObject[], role: string): string {
  const deployment = objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === `davit-${role}`);
  const volumes = deployment?.["spec"].template.spec.volumes as { name: string; secret: Record<string, never> }[];
  const { secretName, items } = (volumes.find(({ name }) => name === "redis")?.secret ?? {}) as {
    secretName?: string;
    items?: { key: string }[];
  };
  return `${secretName}/${items?.[0]?.key}`;
}

const controllerConfig = (objects: readonly KubeObject[]) =>
  objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "davit-controller")?.["data"][
    "davit.yaml"
  ] as string;
const secretRules = (objects: readonly KubeObject[], name = GATEWAY) =>
  (objects.find(({ kind, metadata }) => kind === "Role" && metadata.name === "davit-controller")?.["rules"] ?? [])
    .filter(({ resourceNames = [] }: { resourceNames?: string[] }) => resourceNames.includes(name))
    .map(({ verbs }: { verbs: string[] }) => verbs);
const GATEWAY = "davit-default-redis-gateway";
const external = { secretName: "redis", controllerKey: "admin", gatewayKey: "gateway" };

describe("Redis URLs of controller and gateways", () => {
  test("come from the Secret of a Redis of somebody else's", async () => {
    const objects = await renderChart({ values: { redis: { external } } });
    expect([urlOf(objects, "controller"), urlOf(objects, "gateway")]).toEqual(["redis/admin", "redis/gateway"]);
    expect(controllerConfig(objects)).not.toContain("gatewaySecretName");
    expect(secretRules(objects)).toEqual([]);
  });

  test("are kept by the controller for the gateways when it makes the users there", async () => {
    const objects = await renderChart({ values: { redis: { users: "Provisioned", external } } });
    expect([urlOf(objects, "controller"), urlOf(objects, "gateway")]).toEqual(["redis/admin", `${GATEWAY}/url`]);
    expect(controllerConfig(objects)).toContain(`gatewaySecretName: ${GATEWAY}`);
    expect(secretRules(objects)).toEqual([["get", "update"]]);
  });

  test("are kept for the console likewise", async () => {
    const console = { enabled: true };
    const provisioned = await renderChart({ values: { redis: { users: "Provisioned", external }, console } });
    expect(urlOf(provisioned, "console")).toBe("davit-default-redis-console/url");
    expect(controllerConfig(provisioned)).toContain("consoleSecretName: davit-default-redis-console");
    expect(secretRules(provisioned, "davit-default-redis-console")).toEqual([["get", "update"]]);
    const provided = await renderChart({ values: { redis: { external }, console } });
    expect(urlOf(provided, "console")).toBe("redis/url");
    expect(urlOf(await renderChart({ values: { console } }), "console")).toBe("davit-redis-credentials/consoleUrl");
  });

  test("are those of the bundled Redis, whose gateways need not wait for the controller", async () => {
    const objects = await renderChart();
    expect([urlOf(objects, "controller"), urlOf(objects, "gateway")]).toEqual([
      "davit-redis-credentials/controllerUrl",
      "davit-redis-credentials/gatewayUrl",
    ]);
    expect(controllerConfig(objects)).not.toContain("gatewaySecretName");
  });
});
