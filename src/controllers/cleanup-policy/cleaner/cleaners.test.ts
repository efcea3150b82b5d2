import { describe, expect, test } from "vitest";
import type { CleanupPolicySpec } from "../../../api/generated/cleanup-policy.ts";
import { loadCleanerConfig } from "../../../config/load.ts";
import { fieldOf } from "../../../lib/record.ts";
import { configOf, golden } from "../../webhook-route/testing-plan.ts";
import type { Children } from "../../webhook-route/children/children.ts";
import type { DesiredObject } from "../../webhook-route/children/desired-object.ts";
import { cleanerObjects, cleanerPolicy, Cleaners } from "./cleaners.ts";
import { policySecretNames, unresolvedSecrets } from "./cleaner-secrets.ts";

const GOLDEN = "../../../../test/golden/cleaners";
const SPEC: CleanupPolicySpec = {
  s3: { bucket: "lake", credentialsSecretRef: { name: "s3" }, caSecretRef: { name: "ca", key: "root.pem" } },
  prefixTemplate: "warehouses/{scope}/",
};
const OWN: CleanupPolicySpec = {
  s3: { bucket: "lake" },
  prefixTemplate: "warehouses/{scope}/",
  cleaner: { serviceAccountName: "s3-user" },
};
const NEVER = new AbortController().signal;
const policyOf = (spec: CleanupPolicySpec) => ({ namespace: "shop", name: "expired", uid: "policy-uid", spec });
const objectsOf = (spec: CleanupPolicySpec, replicas: 0 | 1 = 1) =>
  cleanerObjects(policyOf(spec), configOf(), replicas);

describe("a cleaner", () => {
  test.each([
    ["credentials", SPEC],
    ["service-account", OWN],
  ])("is made of these objects, with %s", async (file, spec) => {
    await expect(golden(objectsOf(spec))).toMatchFileSnapshot(`${GOLDEN}/${file}.yaml`);
  });

  test("is told everything that it must know by variables that its config accepts", () => {
    for (const spec of [SPEC, OWN]) {
      const [container] = fieldOf(podOf(spec), "containers") as { env: { name: string; value: string }[] }[];
      const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
      const { cleaner } = loadCleanerConfig(undefined, env);
      expect(cleaner).toMatchObject({ namespace: "shop", policy: "expired" });
      expect(cleaner.credentialsDirectory).toBe(spec === SPEC ? "/etc/davit/credentials" : undefined);
      expect(cleaner.caFile).toBe(spec === SPEC ? "/etc/davit/ca/ca.crt" : undefined);
    }
  });

  test("is owned by its policy, and found by it", () => {
    for (const object of objectsOf(SPEC, 0)) {
      expect(object.metadata.ownerReferences).toEqual([
        {
          apiVersion: "davit.dev/v1alpha1",
          kind: "CleanupPolicy",
          name: "expired",
          uid: "policy-uid",
          controller: true,
        },
      ]);
      expect(cleanerPolicy(object)).toBe("shop/expired");
    }
  });

  test("with a service account of somebody else has the rights bound to that one, which is not touched", () => {
    const objects = objectsOf(OWN);
    expect(objects.map(({ kind }) => kind)).toEqual(["Role", "RoleBinding", "Deployment"]);
    expect(objects[1]?.["subjects"]).toEqual([{ kind: "ServiceAccount", name: "s3-user", namespace: "shop" }]);
    expect(fieldOf(podOf(OWN), "serviceAccountName")).toBe("s3-user");
  });

  test("loses its own service account when its policy names another one, and nothing else", async () => {
    const live = new Map<string, DesiredObject>();
    const children = {
      get: (kind: string, namespace: string, name: string) => live.get(`${kind} ${namespace}/${name}`),
      ensure: async (object: DesiredObject) => {
        live.set(`${object.kind} ${object.metadata.namespace}/${object.metadata.name}`, object);
      },
      remove: async (kind: string, { metadata }: DesiredObject) => {
        live.delete(`${kind} ${metadata.namespace}/${metadata.name}`);
      },
    };
    const cleaners = new Cleaners({ children: children as unknown as Children, config: configOf() });
    const ensure = (spec: CleanupPolicySpec) =>
      cleaners.ensure({ ...policyOf(spec), generation: 1, createdAt: 0, status: undefined }, 0, NEVER);
    const kinds = () => [...live.keys()].map((key) => key.split(" ", 1)[0]);
    await cleaners.ensure(
      { ...policyOf(SPEC), name: "another", generation: 1, createdAt: 0, status: undefined },
      0,
      NEVER,
    );
    const others = [...live.keys()];
    await ensure(SPEC);
    expect(kinds().slice(others.length)).toEqual(["ServiceAccount", "Role", "RoleBinding", "Deployment"]);
    await ensure(OWN);
    expect(kinds().slice(others.length)).toEqual(["Role", "RoleBinding", "Deployment"]);
    expect([...live.keys()].slice(0, others.length)).toEqual(others);
  });

  test("may not read Secrets, nor make or delete runs", () => {
    const rules = objectsOf(SPEC).find(({ kind }) => kind === "Role")?.["rules"] as {
      resources: string[];
      resourceNames?: string[];
      verbs: string[];
    }[];
    const rights = rules.flatMap(({ resources, verbs }) => verbs.map((verb) => `${verb} ${resources.join()}`));
    expect(rights.toSorted()).toEqual([
      "create events",
      "get cleanuppolicies",
      "get cleanupruns",
      "list cleanuppolicies",
      "list cleanupruns",
      "patch cleanupruns/status",
      "patch events",
      "update cleanupruns/status",
      "watch cleanuppolicies",
      "watch cleanupruns",
    ]);
    expect(rules.find(({ resources }) => resources.includes("cleanuppolicies"))?.resourceNames).toEqual(["expired"]);
  });

  test("has no more of its Secrets than the keys it needs", () => {
    const volumes = fieldOf(podOf(SPEC), "volumes") as { secret?: { secretName: string; items: { key: string }[] } }[];
    const keys = volumes.flatMap(({ secret }) =>
      (secret?.items ?? []).map(({ key }) => `${secret?.secretName}/${key}`),
    );
    expect(keys).toEqual(["s3/accessKeyId", "s3/secretAccessKey", "s3/sessionToken", "ca/root.pem"]);
  });
});

function podOf(spec: CleanupPolicySpec): unknown {
  const deployment = objectsOf(spec).find(({ kind }) => kind === "Deployment");
  return fieldOf(fieldOf(deployment?.["spec"], "template"), "spec");
}

describe("a Secret that a policy refers to", () => {
  const secret = (name: string, data: Record<string, string>, use?: string) => ({
    namespace: "shop",
    name,
    labels: use === undefined ? {} : { "davit.dev/use": use },
    data: new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value)])),
  });
  const S3 = secret("s3", { accessKeyId: "id", secretAccessKey: "secret" }, "true");
  const CA = secret("ca", { "root.pem": "pem" }, "true");
  const reasons = (...secrets: (typeof S3)[]) =>
    unresolvedSecrets(SPEC, new Map(secrets.map((one) => [one.name, one]))).map(({ reason }) => reason);

  test("resolves when it is there, may be used and has its keys; a session token is not needed", () => {
    expect(policySecretNames(SPEC)).toEqual(["s3", "ca"]);
    expect(reasons(S3, CA)).toEqual([]);
    expect(unresolvedSecrets(OWN, new Map())).toEqual([]);
  });

  test.each([
    ["is not there", [S3], "SecretNotFound"],
    ["may not be used", [S3, secret("ca", { "root.pem": "pem" })], "SecretNotLabelled"],
    ["says that it may not be used", [S3, secret("ca", { "root.pem": "pem" }, "false")], "SecretNotLabelled"],
    ["lacks a key", [CA, secret("s3", { accessKeyId: "id" }, "true")], "SecretKeyMissing"],
    ["has an empty key", [CA, secret("s3", { accessKeyId: "id", secretAccessKey: "" }, "true")], "SecretEmpty"],
  ])("does not resolve when it %s", (_name, secrets, reason) => {
    expect(reasons(...secrets)).toEqual([reason]);
  });

  test("is named in messages, never its value", () => {
    const all = unresolvedSecrets(SPEC, new Map([["s3", secret("s3", { accessKeyId: "AKIA", secretAccessKey: "" })]]));
    expect(JSON.stringify(all)).not.toContain("AKIA");
    expect(all.map(({ message }) => message).join()).toContain("Secret s3");
  });
});
