import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/objects.ts";
import { covers, type DesiredObject, desiredObject, difference } from "./desired-object.ts";

function deployment(spec: unknown): DesiredObject {
  return desiredObject("default", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "w", namespace: "shop", labels: { a: "1" } },
    spec,
  });
}

const CONTAINER = {
  name: "worker",
  image: "davit:1",
  args: ["worker"],
  env: [
    { name: "A", value: "1" },
    { name: "EMPTY", value: "" },
  ],
  resources: { requests: { cpu: "0.5", memory: "1024Mi" }, limits: { cpu: 2 } },
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
};
const DESIRED = deployment({
  replicas: 2,
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" } },
  template: { spec: { containers: [CONTAINER], volumes: [{ name: "tmp", emptyDir: {} }] } },
});

/** As the API server returns it: defaults, other managers' fields, quantities in canonical form. */
function liveOf(path?: string, value?: unknown): KubeObject {
  const live = {
    metadata: {
      ...structuredClone(DESIRED.metadata),
      uid: "u",
      resourceVersion: "7",
      managedFields: [],
      annotations: { ...DESIRED.metadata.annotations, "deployment.kubernetes.io/revision": "1" },
    },
    spec: {
      replicas: 2,
      progressDeadlineSeconds: 600,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" } },
      template: {
        metadata: { creationTimestamp: null },
        spec: {
          containers: [
            {
              ...structuredClone(CONTAINER),
              env: [{ name: "INJECTED", value: "x" }, { name: "A", value: "1" }, { name: "EMPTY" }],
              resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: "2" } },
              imagePullPolicy: "IfNotPresent",
              terminationMessagePath: "/dev/termination-log",
            },
          ],
          volumes: [{ name: "tmp", emptyDir: {} }],
          restartPolicy: "Always",
        },
      },
    },
    status: { replicas: 2 },
  };
  if (path !== undefined) setIn(live, path.split("."), value);
  return live;
}

function setIn(object: unknown, [step = "", ...rest]: readonly string[], value: unknown): void {
  const fields = object as Record<string, unknown>;
  if (rest.length === 0) fields[step] = value;
  else setIn(fields[step], rest, value);
}

const WORKER = "spec.template.spec.containers.0";

describe("an untouched child", () => {
  it("is covered in spite of defaults, other managers' fields and quantities written another way", () => {
    expect(difference(liveOf(), DESIRED)).toBeUndefined();
    expect(covers(liveOf(), DESIRED)).toBe(true);
  });

  it("is covered when a list of the API server left kind and apiVersion out", () => {
    expect(covers({ ...liveOf(), kind: "Deployment", apiVersion: "apps/v1" }, DESIRED)).toBe(true);
  });
});

describe("a child that differs", () => {
  it("is found when it is missing", () => {
    expect(difference(undefined, DESIRED)).toBe("");
    expect(covers(undefined, DESIRED)).toBe(false);
  });

  it.each<[what: string, path: string, value: unknown, found?: string]>([
    ["another number", "spec.replicas", 3],
    ["a number of 0", "spec.replicas", 0],
    [
      "a guard that was removed",
      `${WORKER}.securityContext`,
      { capabilities: { drop: ["ALL"] } },
      `${WORKER}.securityContext.allowPrivilegeEscalation`,
    ],
    ["a longer atomic list", `${WORKER}.args`, ["worker", "--debug"]],
    ["a shorter atomic list", `${WORKER}.args`, []],
    ["another image", `${WORKER}.image`, "davit:2"],
    ["an element gone from a keyed list", `${WORKER}.env`, [], `${WORKER}.env.0`],
    [
      "a changed element of a keyed list",
      `${WORKER}.env`,
      [{ name: "EMPTY" }, { name: "A", value: "2" }],
      `${WORKER}.env.0.value`,
    ],
    ["another quantity", `${WORKER}.resources.requests.memory`, "2Gi"],
    [
      "a volume of another kind",
      "spec.template.spec.volumes",
      [{ name: "tmp", hostPath: { path: "/" } }],
      "spec.template.spec.volumes.0.emptyDir",
    ],
    ["a changed label", "metadata.labels", { ...DESIRED.metadata.labels, a: "2" }, "metadata.labels.a"],
    ["no labels", "metadata.labels", undefined],
    ["a text where a number was", "spec.replicas", "2"],
  ])("is found by %s", (_, path, value, found = path) => {
    expect(difference(liveOf(path, value), DESIRED)).toBe(found);
  });

  it("is found by a field that is no longer desired, since the hash of what was applied last differs", () => {
    const before = deployment({ replicas: 1, paused: true });
    expect(difference(before, deployment({ replicas: 1 }))).toBe("metadata.annotations.davit.dev/desired-hash");
  });
});

describe("a desired object", () => {
  it("is the same for equal input, byte by byte", () => {
    expect(JSON.stringify(deployment({ replicas: 1 }))).toBe(JSON.stringify(deployment({ replicas: 1 })));
  });

  it("holds nothing empty that the API server would drop, and keeps an empty map that says something", () => {
    const { spec } = deployment({
      a: undefined,
      list: [],
      map: { b: undefined },
      volumes: [{ emptyDir: {} }],
      zero: 0,
      no: false,
    });
    expect(spec).toEqual({ volumes: [{ emptyDir: {} }], zero: 0, no: false });
  });

  it("has no hash when it is a Secret", () => {
    const secret = desiredObject("default", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s", namespace: "shop" },
    });
    expect(secret.metadata.annotations).toEqual({});
  });
});
