import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { workerObjects } from "../../src/controllers/webhook-route/workers/workers.ts";
import { addressSet } from "../../src/lib/address-set.ts";
import { entryOf } from "../../src/routes/testing.ts";
import { readCrds } from "../support/control-plane/crds.ts";
import type { KubeObject } from "../support/control-plane/client.ts";
import { HelmError, renderChart, renderText } from "../support/chart.ts";
import { VARIANTS } from "./variants.ts";

const GOLDEN = join(import.meta.dirname, "golden");
const names = Object.keys(VARIANTS);

/** Without what differs from run to run, and without the CRDs, which have a test of their own. */
function stable(manifests: string): string {
  return manifests
    .split(/^---\n/m)
    .filter((manifest) => !/^kind: CustomResourceDefinition$/m.test(manifest))
    .join("---\n")
    .replaceAll(/#[0-9a-f]{64}/g, "#<sha256>")
    .replaceAll(/(?<=config-checksum: )[0-9a-f]{64}/g, "<sha256>")
    .replaceAll(/(?<=Password: )\w{40}$/gm, "<password>")
    .replaceAll(/(?<=redis:\/\/[\w-]+:)\w{40}(?=@)/g, "<password>");
}

const only = (objects: readonly KubeObject[], kind: string, name: string) => {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  expect(found, `${kind} ${name}`).toHaveLength(1);
  return found[0] as KubeObject;
};

describe.each(names)("the chart with the values %s", (name) => {
  const values = VARIANTS[name] as object;

  it("renders what it rendered before, with Helm 4 and with Helm 3", async () => {
    const [four, three] = [await renderText({ values }), await renderText({ values, helm: 3 })];
    await expect(stable(four)).toMatchFileSnapshot(join(GOLDEN, `${name}.yaml`));
    expect(stable(three)).toBe(stable(four));
  });

  it.each(["controller", "gateway"])("gives the %s a config that it accepts", async (role) => {
    const objects = await renderChart({ values });
    const { data } = only(objects, "ConfigMap", `davit-${role}`);
    const config = parseConfig(data["davit.yaml"], {}, `${name}/${role}`);
    expect(config).toMatchObject({ release: "davit", namespace: "davit-system" });
  });

  it("gives a config exactly what was set, numbers and all", async () => {
    const objects = await renderChart({ values });
    const config = parseConfig(only(objects, "ConfigMap", "davit-controller")["data"]["davit.yaml"], {}, name);
    const set = values as { gateway?: { hosts?: object[] }; workers?: object };
    expect(config.gateway.hosts).toMatchObject(set.gateway?.hosts ?? []);
    expect(config.workers).toMatchObject(set.workers ?? {});
    expect(config.controller.claimHoldMs).toBe(86_400_000);
  });

  it("ends a gateway no earlier than its own shutdown takes", async () => {
    const objects = await renderChart({ values });
    const config = parseConfig(only(objects, "ConfigMap", "davit-gateway")["data"]["davit.yaml"], {}, name);
    const { terminationGracePeriodSeconds } = only(objects, "Deployment", "davit-gateway")["spec"].template.spec;
    const { shutdownDelayMs, shutdownGraceMs } = config.gateway;
    expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(shutdownDelayMs + shutdownGraceMs + 10_000);
  });
});

const CONSOLE = { console: { enabled: true } };

describe("the chart", () => {
  it("installs the CRDs as they stand in crds/, kept on uninstall", async () => {
    const rendered = (await renderChart()).filter(({ kind }) => kind === "CustomResourceDefinition");
    const kept = { "helm.sh/resource-policy": "keep" };
    expect(rendered).toEqual(
      readCrds("crds").map((crd) => ({ ...crd, metadata: { annotations: kept, ...crd.metadata } })),
    );
  });

  it("lets go of the CRDs on uninstall when told to", async () => {
    const objects = await renderChart({ values: { crds: { keep: false } } });
    const rendered = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
    expect(rendered).toEqual(readCrds("crds"));
  });

  it("keeps the namespace of the published routes on uninstall", async () => {
    const { metadata } = only(await renderChart(), "Namespace", "davit-routes");
    expect(metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
  });

  it("gives Redis the passwords that stand in the URLs, as hashes", async () => {
    const { stringData } = only(await renderChart({ values: CONSOLE }), "Secret", "davit-redis-credentials");
    for (const role of ["controller", "gateway", "console"]) {
      const { username, password } = new URL(stringData[`${role}Url`]);
      expect([username, password]).toEqual([`davit-${role}`, stringData[`${role}Password`]]);
      expect(stringData["users.acl"]).not.toContain(password);
    }
  });

  it("has a console only where that is wanted, and no Service for holders of tokens unless that is too", async () => {
    const namesOf = async (console: object) =>
      (await renderChart({ values: { console } })).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect((await namesOf({})).filter((name) => name.includes("console"))).toEqual([]);
    const own = await namesOf({ enabled: true });
    expect(own).toEqual(expect.arrayContaining(["Deployment davit-console", "Service davit-console"]));
    expect(own).not.toContain("Service davit-destinations");
    const both = await namesOf({ enabled: true, destinations: { enabled: true } });
    expect(both).toContain("Service davit-destinations");
  });

  it("gives a console a config that it accepts, and ends it no earlier than its own shutdown takes", async () => {
    const console = { enabled: true, audience: "ops", destinations: { enabled: true }, shutdownDelayMs: 1_001 };
    const objects = await renderChart({ values: { console } });
    const config = parseConfig(only(objects, "ConfigMap", "davit-console")["data"]["davit.yaml"], {}, "console");
    expect(config.console).toMatchObject({ audience: "ops", destinationPort: 8083, shutdownDelayMs: 1_001 });
    const { terminationGracePeriodSeconds } = only(objects, "Deployment", "davit-console")["spec"].template.spec;
    expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(1 + 15 + 10);
  });

  it("gives the console no way to the Secrets of anybody but what is published of destinations", async () => {
    const objects = await renderChart({ values: CONSOLE });
    const roles = objects.filter(({ kind, metadata }) => kind?.endsWith("Role") && metadata.name === "davit-console");
    const ofSecrets = roles.filter(({ rules }) =>
      (rules as { resources: string[] }[]).some(({ resources }) => resources.includes("secrets")),
    );
    expect(ofSecrets.map(({ kind, metadata }) => [kind, metadata.namespace])).toEqual([["Role", "davit-destinations"]]);
  });

  it("lets the workers that the controller makes through to Redis when there are network policies", async () => {
    const objects = await renderChart({ values: { networkPolicy: { enabled: true } } });
    const sources = only(objects, "NetworkPolicy", "davit-redis")["spec"].ingress[0].from as {
      podSelector: { matchLabels: Record<string, string> };
      namespaceSelector?: object;
    }[];
    const [workers] = sources.filter(({ namespaceSelector }) => namespaceSelector !== undefined);
    const deployment = workerObjects({
      scope: { namespace: "shop" },
      release: parseConfig(only(objects, "ConfigMap", "davit-controller")["data"]["davit.yaml"], {}, "default"),
      routes: [entryOf()],
      replicas: { replicas: 1, owner: "davit" },
      hasKeda: false,
    }).find(({ kind }) => kind === "Deployment") as unknown as { spec: { template: KubeObject } };
    expect(deployment.spec.template.metadata.labels).toMatchObject(workers?.podSelector.matchLabels ?? {});
  });

  it("closes the gateways' way to the Internet only where no route needs the public keys of a provider", async () => {
    const policyOf = async (publicKeys: boolean, component: string) => {
      const values = { networkPolicy: { enabled: true }, gateway: { egress: { publicKeys } } };
      return only(await renderChart({ values }), "NetworkPolicy", `davit-${component}`)["spec"];
    };
    expect(await policyOf(true, "gateway")).toMatchObject({ policyTypes: ["Ingress"] });
    expect(await policyOf(false, "controller")).toMatchObject({ policyTypes: ["Ingress"] });
    const closed = await policyOf(false, "gateway");
    expect(closed.policyTypes).toEqual(["Ingress", "Egress"]);
    const blocks = closed.egress.flatMap((rule: { to?: { ipBlock: { cidr: string } }[] }) => rule.to ?? []);
    expect(closed.egress[0]).toEqual({
      ports: [
        { port: 53, protocol: "UDP" },
        { port: 53, protocol: "TCP" },
      ],
    });
    const isIn = addressSet(blocks.map((block: { ipBlock: { cidr: string } }) => block.ipBlock.cidr));
    expect(["10.1.2.3", "172.31.0.1", "192.168.1.1", "100.100.0.1", "fd00::1"].every(isIn)).toBe(true);
    expect(["8.8.8.8", "172.32.0.1", "169.254.169.254", "2001:db8::1"].some(isIn)).toBe(false);
  });

  it("starts the bundled Redis anew when it has to know other users, as it reads them at its start", async () => {
    const checksum = async (users: string, more: object = {}) => {
      const redis = only(await renderChart({ values: { redis: { users }, ...more } }), "StatefulSet", "davit-redis");
      return redis["spec"].template.metadata.annotations["davit.dev/config-checksum"] as string;
    };
    expect(await checksum("Shared")).not.toBe(await checksum("Provisioned"));
    expect(await checksum("Provisioned")).toBe(await checksum("Provisioned"));
    expect(await checksum("Provisioned", CONSOLE)).not.toBe(await checksum("Provisioned"));
  });

  it("leaves the credentials of Redis to a Secret that is named", async () => {
    const objects = await renderChart({ values: { redis: { bundled: { credentialsSecretName: "own" } } } });
    expect(objects.filter(({ kind }) => kind === "Secret")).toEqual([]);
    const workloads = objects.filter((object) => object["spec"]?.template !== undefined);
    const volumes = workloads.flatMap((object) => object["spec"].template.spec.volumes as KubeObject[]);
    const mounted = volumes.flatMap(({ secret }) => (secret === undefined ? [] : [secret.secretName]));
    expect(mounted).toEqual(["own", "own", "own"]);
  });

  it("renders names of the release alone, so that two releases can stand side by side", async () => {
    const nameOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
    const own = ({ kind }: KubeObject) => kind !== "CustomResourceDefinition";
    const [one, two] = [await renderChart({ release: "one" }), await renderChart({ release: "two" })];
    const others = new Set(two.filter(own).map(nameOf));
    expect(
      one
        .filter(own)
        .map(nameOf)
        .filter((name) => others.has(name)),
    ).toEqual([]);
  });

  it.each([
    ["there is no Redis", { redis: { bundled: { enabled: false } } }],
    ["rbac.namespaces is empty", { rbac: { scope: "Namespaces" } }],
    ["names no Gateway", { gateway: { hosts: [{ host: "a.example", via: "HTTPRoute" }] } }],
  ])("refuses values that cannot work: %s", async (message, values) => {
    await expect(renderText({ values })).rejects.toThrow(message);
  });

  it("refuses to be installed into the namespace of the published routes", async () => {
    await expect(renderText({ namespace: "davit-routes" })).rejects.toThrow("install the release into another one");
  });

  it.each([
    [{ gatway: {} }, "gatway"],
    [{ gateway: { hosts: [{ host: "a.example", tls: "x" }] } }, "tls"],
    [{ gateway: { shutdownDelayMs: -1 } }, "shutdownDelayMs"],
    [{ instance: "Upper" }, "instance"],
    [{ image: { digest: "latest" } }, "digest"],
    [{ redis: { users: "shared" } }, "users"],
    [{ workers: { namespaces: { shop: { replica: 1 } } } }, "replica"],
    [{ rbac: { scope: "Everywhere" } }, "scope"],
  ])("refuses values that its schema does not know, in Helm 3 and 4: %j", async (values, named) => {
    for (const helm of [3, 4] as const) {
      const refusal = renderText({ values, helm });
      await expect(refusal).rejects.toThrow(HelmError);
      await expect(refusal).rejects.toThrow(named);
    }
  });
});
