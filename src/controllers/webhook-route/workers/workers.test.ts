import { describe, expect, it } from "vitest";
import { workerName } from "../../../api/names.ts";
import type { Config } from "../../../config/schema.ts";
import { decodeWorkerConfig, WORKER_CONFIG_KEY } from "../../../routes/worker-config.ts";
import { configSchema } from "../../../config/schema.ts";
import { parse } from "yaml";
import { covers, type DesiredObject } from "../children/desired-object.ts";
import { configOf, dedicatedOf, golden, namedEntry } from "../testing-plan.ts";
import { type WorkerInput, workerObjects } from "./workers.ts";

const GOLDEN = "../../../../test/golden/workers";
const FIXED = { replicas: 1, owner: "davit" };
const AUTOSCALED = { owner: "autoscaler" };

function sharedInput(more: Partial<WorkerInput> = {}): WorkerInput {
  return {
    scope: { namespace: "shop" },
    release: configOf(),
    routes: [namedEntry("orders")],
    replicas: FIXED,
    hasKeda: true,
    ...more,
  };
}

function dedicatedInput(dedicated: Parameters<typeof dedicatedOf>[0], more: Partial<WorkerInput> = {}): WorkerInput {
  return sharedInput({
    scope: { namespace: "shop", route: "orders" },
    dedicated: dedicatedOf(dedicated),
    ownerUid: "route-uid",
    ...more,
  });
}

const FULL = {
  replicas: 2,
  concurrency: 100,
  resources: { requests: { cpu: 1, memory: "128Mi" }, limits: { memory: "0.5Gi" } },
  scheduling: {
    nodeSelector: { pool: "workers" },
    tolerations: [{ key: "pool", operator: "Equal", value: "workers", effect: "NoSchedule" }],
    topologySpreadConstraints: [{ topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", maxSkew: 1 }],
    priorityClassName: "high",
  },
  env: [
    { name: "LEVEL", value: "debug" },
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "orders", key: "password" } } },
  ],
} satisfies Parameters<typeof dedicatedOf>[0];

/** A field of an object by its path. */
function at(object: DesiredObject | undefined, path: string): unknown {
  let value: unknown = object;
  for (const step of path.split(".")) value = (value as Record<string, unknown> | undefined)?.[step];
  return value;
}

function ofKind(input: WorkerInput, kind: string): DesiredObject | undefined {
  return workerObjects(input).find((object) => object.kind === kind);
}

const kinds = (input: WorkerInput) => workerObjects(input).map((object) => object.kind);
const CONTAINER = "spec.template.spec.containers.0";

describe("the objects of workers", () => {
  it.each<[file: string, input: WorkerInput]>([
    ["shared", sharedInput()],
    [
      "shared-in-the-release-namespace",
      sharedInput({
        release: configOf({
          redis: { urlFile: "/redis/url", users: "Shared" },
          workers: { defaults: { replicas: 2 } },
        }),
        replicas: { replicas: 2, owner: "davit" },
      }),
    ],
    [
      "dedicated",
      dedicatedInput(FULL, {
        release: configOf({
          redis: { urlFile: "/redis/url", users: "Provisioned" },
          workers: { image: "davit:1.2.3", imagePullSecrets: ["registry"] },
        }),
        replicas: { replicas: 2, owner: "davit" },
      }),
    ],
    [
      "handler-keda",
      dedicatedInput({ image: "handler:1", autoscaling: { type: "KEDA", min: 0, max: 10 } }, { replicas: AUTOSCALED }),
    ],
    ["hpa", dedicatedInput({ autoscaling: { type: "HPA", max: 5, targetBacklog: 50 } }, { replicas: AUTOSCALED })],
  ])("are those of %s.yaml", async (file, input) => {
    await expect(golden(workerObjects(input))).toMatchFileSnapshot(`${GOLDEN}/${file}.yaml`);
  });

  it("come out the same, byte by byte, whatever the order of the routes", () => {
    const routes = [namedEntry("a"), namedEntry("b"), namedEntry("c")];
    expect(JSON.stringify(workerObjects(sharedInput({ routes })))).toBe(
      JSON.stringify(workerObjects(sharedInput({ routes: routes.toReversed() }))),
    );
  });

  it("cover themselves", () => {
    for (const object of workerObjects(dedicatedInput(FULL)))
      expect(covers(structuredClone(object), object)).toBe(true);
  });

  it("are applied with rights and config before the Pods that need them", () => {
    expect(kinds(dedicatedInput({ autoscaling: { type: "KEDA", max: 2 } }))).toEqual([
      "ServiceAccount",
      "Role",
      "RoleBinding",
      "Secret",
      "Deployment",
      "PodDisruptionBudget",
      "ScaledObject",
    ]);
  });

  it("have names that a route with 253 characters fits into", () => {
    const route = `${"a".repeat(200)}.${"b".repeat(52)}`;
    const instance = "i".repeat(40);
    const input = dedicatedInput(
      { autoscaling: { type: "KEDA", max: 2 } },
      { scope: { namespace: "n".repeat(63), route }, release: configOf({ instance }) },
    );
    const objects = workerObjects(input);
    for (const { kind, metadata } of objects) {
      expect(metadata.name.length).toBeLessThanOrEqual(kind === "ScaledObject" ? 63 : 253);
      for (const value of Object.values(metadata.labels)) expect(value.length).toBeLessThanOrEqual(63);
      expect(metadata.annotations["davit.dev/route"]).toBe(`${"n".repeat(63)}/${route}`);
    }
    expect(new Set(objects.map(({ metadata }) => metadata.name))).toContain(workerName(instance, input.scope));
  });

  it("carry no label by which Argo CD would take them for its application's", () => {
    for (const { metadata } of workerObjects(dedicatedInput(FULL))) {
      expect(Object.keys(metadata.labels)).not.toContain("app.kubernetes.io/instance");
    }
  });

  it("select Pods by labels that stay the same when the spec changes", () => {
    const selectors = [FULL, { image: "handler:2" }, {}].map((dedicated) =>
      at(ofKind(dedicatedInput(dedicated), "Deployment"), "spec.selector"),
    );
    expect(new Set(selectors.map((selector) => JSON.stringify(selector))).size).toBe(1);
  });

  it("do not select the Pods of other workers, whatever the names", () => {
    const selector = (more: Partial<WorkerInput>) =>
      JSON.stringify(at(ofKind(sharedInput(more), "Deployment"), "spec.selector"));
    const all = [
      selector({}),
      selector({ scope: { namespace: "shop", route: "orders" } }),
      selector({ scope: { namespace: "other" } }),
      selector({ release: configOf({ instance: "second" }) }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("who owns the objects", () => {
  const owners = (input: WorkerInput) => workerObjects(input).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid);

  it("is the route, for its own workers", () => {
    expect(new Set(owners(dedicatedInput({})))).toEqual(new Set(["route-uid"]));
  });

  it("is nobody for shared workers, and in the release's namespace, where an owner would be ignored", () => {
    const release = configOf({ redis: { urlFile: "/redis/url", users: "Shared" } });
    expect(new Set([...owners(sharedInput()), ...owners(dedicatedInput({}, { release }))])).toEqual(
      new Set([undefined]),
    );
  });
});

describe("Pods of workers", () => {
  it("roll when their config file changes, not when a route does", () => {
    const hash = (input: WorkerInput) =>
      at(ofKind(input, "Deployment"), "spec.template.metadata.annotations") as Record<string, string>;
    const before = hash(sharedInput());
    expect(hash(sharedInput({ routes: [namedEntry("other")] }))).toEqual(before);
    expect(hash(sharedInput({ release: configOf({ workers: { defaults: { concurrency: 7 } } }) }))).not.toEqual(before);
  });

  it("run davit worker in Davit's own image, and the command of a handler's image", () => {
    const davit = ofKind(sharedInput(), "Deployment");
    const handler = ofKind(dedicatedInput({ image: "handler:1" }), "Deployment");
    expect([at(davit, `${CONTAINER}.image`), at(davit, `${CONTAINER}.args`)]).toEqual(["davit:dev", ["worker"]]);
    expect([at(handler, `${CONTAINER}.image`), at(handler, `${CONTAINER}.args`)]).toEqual(["handler:1", undefined]);
  });

  it("take the Redis URL from the Secret that the release's users say", () => {
    const nameFor = (users: Config["redis"]["users"]) => {
      const release = configOf({ redis: { urlFile: "/redis/url", users, providedSecretName: "mine" } });
      return at(ofKind(sharedInput({ release }), "Deployment"), "spec.template.spec.volumes.1.secret.secretName");
    };
    expect([nameFor("Provided"), nameFor("Shared"), nameFor("Provisioned")]).toEqual([
      "mine",
      "mine",
      "davit-default-redis",
    ]);
  });

  it("have no replicas of ours while an autoscaler sets them", () => {
    const deployment = ofKind(
      dedicatedInput({ autoscaling: { type: "External" } }, { replicas: AUTOSCALED }),
      "Deployment",
    );
    expect(Object.keys(at(deployment, "spec") as object)).not.toContain("replicas");
    expect(at(ofKind(sharedInput({ replicas: { replicas: 0, owner: "davit" } }), "Deployment"), "spec.replicas")).toBe(
      0,
    );
  });

  it("never get a variable of Davit's own from a route", () => {
    const env = [{ name: "DAVIT_CONFIG", value: "/tmp/other.yaml" }];
    const all = at(ofKind(dedicatedInput({ env }), "Deployment"), `${CONTAINER}.env`) as {
      name: string;
      value?: string;
    }[];
    expect(all.filter(({ name }) => name === "DAVIT_CONFIG")).toEqual([
      { name: "DAVIT_CONFIG", value: "/etc/davit/worker/davit.yaml" },
    ]);
  });

  it("do not start with a Secret that may not be used", () => {
    const input = dedicatedInput(FULL, { deniedSecrets: new Set(["orders"]) });
    expect(at(ofKind(input, "Deployment"), `${CONTAINER}.env.4`)).toEqual({
      name: "PASSWORD",
      valueFrom: { secretKeyRef: { name: "davit.not-permitted", key: "password" } },
    });
  });

  it("run nothing of a route's own beside the credential of all namespaces", () => {
    const release = configOf({ redis: { urlFile: "/redis/url", users: "Shared" } });
    const deployment = ofKind(dedicatedInput({ ...FULL, image: "evil:1" }, { release }), "Deployment");
    expect(at(deployment, `${CONTAINER}.image`)).toBe("davit:dev");
    expect(JSON.stringify(at(deployment, `${CONTAINER}.env`))).not.toContain("LEVEL");
  });
});

describe("the config Secrets", () => {
  const secrets = (input: WorkerInput) => workerObjects(input).filter(({ kind }) => kind === "Secret");
  const data = (object: DesiredObject | undefined, key: string) =>
    Buffer.from((at(object, "data") as Record<string, string>)[key] ?? "", "base64");

  it("hold a config file that the worker's role accepts", () => {
    const [secret] = secrets(dedicatedInput({ concurrency: 7 }));
    expect(configSchema.parse(parse(data(secret, "davit.yaml").toString()))).toMatchObject({
      redis: { urlFile: "/etc/davit/redis/url", users: "Provided" },
      worker: {
        configDir: "/etc/davit/worker",
        configName: secret?.metadata.name.slice(0, -2),
        namespace: "shop",
        concurrency: 7,
      },
    });
  });

  it("hold the routes, without the keys of what comes in", () => {
    const [secret] = secrets(sharedInput());
    const reading = decodeWorkerConfig(data(secret, WORKER_CONFIG_KEY));
    expect(reading.ok && reading.config.routes.map(({ name, keys }) => [name, keys])).toEqual([["orders", []]]);
  });

  it("are several when there are many routes, the first one last, and the Role names just these", () => {
    const headers = { "X-Long": "x".repeat(1_000) };
    const routes = Array.from({ length: 400 }, (_, n) => namedEntry(`route-${n}`, { delivery: { headers } }));
    const names = secrets(sharedInput({ routes })).map(({ metadata }) => metadata.name);
    expect(names).toHaveLength(32);
    expect([names[0], names.at(-1)]).toEqual(["davit-default-shared-31", "davit-default-shared-0"]);
    expect(at(ofKind(sharedInput({ routes }), "Role"), "rules.0.resourceNames")).toEqual(names.toReversed());
    expect(at(ofKind(sharedInput(), "Role"), "rules.0.resourceNames")).toEqual(["davit-default-shared-0"]);
  });
});

describe("a disruption budget", () => {
  it.each<[string, WorkerInput, boolean]>([
    ["one replica", sharedInput(), false],
    ["two replicas", dedicatedInput({ replicas: 2 }), true],
    [
      "shared workers of two",
      sharedInput({ release: configOf({ workers: { namespaces: { shop: { replicas: 2 } } } }) }),
      true,
    ],
    ["at most one", dedicatedInput({ autoscaling: { type: "KEDA", max: 1 } }), false],
    ["up to ten", dedicatedInput({ autoscaling: { type: "HPA", max: 10 } }), true],
    ["somebody else's number", dedicatedInput({ autoscaling: { type: "External" } }), true],
  ])("is there when there may be two Pods: %s", (_, input, isThere) => {
    expect(ofKind(input, "PodDisruptionBudget") !== undefined).toBe(isThere);
  });
});

describe("an autoscaler", () => {
  it("is not made by us for External", () => {
    const all = kinds(dedicatedInput({ autoscaling: { type: "External" } }));
    expect(all).not.toContain("HorizontalPodAutoscaler");
    expect(all).not.toContain("ScaledObject");
  });

  it("is not made where the API server would refuse it", () => {
    expect(kinds(dedicatedInput({ autoscaling: { type: "KEDA", max: 2 } }, { hasKeda: false }))).not.toContain(
      "ScaledObject",
    );
    const scope = { namespace: "shop", route: "r".repeat(64) };
    expect(kinds(dedicatedInput({ autoscaling: { type: "HPA", max: 2 } }, { scope }))).not.toContain(
      "HorizontalPodAutoscaler",
    );
  });
});
