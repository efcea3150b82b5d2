import { beforeAll, describe, expect, it } from "vitest";
import { difference, type DesiredObject } from "../../src/controllers/webhook-route/children/desired-object.ts";
import { hostObjects } from "../../src/controllers/webhook-route/exposure/ingress.ts";
import {
  HAND_OVER_MANAGER,
  handOverPatch,
  liveReplicas,
  replicaPlan,
  STEP_MS,
  type WantedReplicas,
} from "../../src/controllers/webhook-route/workers/replica-plan.ts";
import { configOf, dedicatedOf, hostOf, namedEntry } from "../../src/controllers/webhook-route/testing-plan.ts";
import { type WorkerInput, workerObjects } from "../../src/controllers/webhook-route/workers/workers.ts";
import { pathOf } from "../support/chart.ts";
import { sharedCluster } from "../support/cluster.ts";
import { type KubeObject, PATCH } from "../support/control-plane/client.ts";

// What the plan makes is taken by a real API server as it is, and is then found to be there.
const cluster = sharedCluster();
let namespace: string;
beforeAll(async () => {
  namespace = await cluster.namespace("children", { "pod-security.kubernetes.io/enforce": "restricted" });
});

const path = (object: DesiredObject) => pathOf(object as unknown as KubeObject);
const asTold = "fieldValidation=Strict&force=true";

/** Server-side apply as the controller does it. */
function apply(object: object & { readonly kind?: string }, fieldManager = "davit"): Promise<KubeObject> {
  const query = `${asTold}&fieldManager=${fieldManager}`;
  return cluster.admin.must("PATCH", `${pathOf(object as KubeObject)}?${query}`, object, PATCH.apply);
}

function workers(more: Partial<WorkerInput> = {}): readonly DesiredObject[] {
  return workerObjects({
    scope: { namespace },
    release: configOf(),
    routes: [namedEntry("orders")],
    replicas: { replicas: 1, owner: "davit" },
    hasKeda: true,
    ...more,
  });
}

function dedicated(route: string, spec: Parameters<typeof dedicatedOf>[0], more: Partial<WorkerInput> = {}) {
  return workers({ scope: { namespace, route }, dedicated: dedicatedOf(spec), ...more });
}

const FULL = {
  replicas: 2,
  resources: { requests: { cpu: 1, memory: "1024Mi", "ephemeral-storage": "0.5Gi" }, limits: { cpu: "1.50" } },
  scheduling: {
    nodeSelector: { pool: "workers" },
    tolerations: [
      { key: "pool", operator: "Equal", value: "", effect: "NoSchedule" },
      { operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 },
    ],
    topologySpreadConstraints: [
      { topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", maxSkew: 1 },
      { topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", maxSkew: 5 },
    ],
  },
  env: [
    { name: "EMPTY", value: "" },
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "orders", key: "password" } } },
    { name: "REGION", valueFrom: { configMapKeyRef: { name: "orders", key: "region" } } },
  ],
} satisfies Parameters<typeof dedicatedOf>[0];

const ROUTE_NAME = `${"r".repeat(200)}.${"s".repeat(52)}`;
const RELEASE = () => ({
  release: "davit",
  instance: "default",
  namespace,
  service: { name: "davit-gateway", port: 80 },
});
const routesAt = (...paths: string[]) =>
  paths.map((one) => ({ namespace, name: "r", host: "hooks.example.com", path: one }));
const GATEWAY = { via: "HTTPRoute", parentRefs: [{ name: "public", sectionName: "https" }], annotations: { a: "b" } };

const CASES: readonly (readonly [what: string, objects: () => readonly DesiredObject[]])[] = [
  ["shared workers", () => workers()],
  ["workers of one route with everything", () => dedicated("full", FULL)],
  [
    "a handler that KEDA scales",
    () =>
      dedicated(
        "handler",
        { image: "handler:1", autoscaling: { type: "KEDA", min: 0, max: 9 } },
        { replicas: { owner: "autoscaler" } },
      ),
  ],
  [
    "workers that an HPA scales",
    () => dedicated("hpa", { autoscaling: { type: "HPA", max: 5 } }, { replicas: { owner: "autoscaler" } }),
  ],
  [
    "workers of a name with 253 characters",
    () =>
      dedicated(
        ROUTE_NAME,
        { autoscaling: { type: "KEDA", max: 2 } },
        { release: configOf({ instance: "i".repeat(40) }) },
      ),
  ],
  [
    "an Ingress",
    () => hostObjects(hostOf({ className: "nginx", tlsSecretName: "tls", annotations: { a: "b" } }), [], RELEASE()),
  ],
  [
    "an Ingress of exact paths",
    () => hostObjects(hostOf({ host: "*.example.com", paths: "Exact" }), routesAt("/a", "/b~!$&()*+,;=:@"), RELEASE()),
  ],
  ["HTTPRoutes", () => hostObjects(hostOf(GATEWAY), routesAt("/a"), RELEASE())],
  [
    "HTTPRoutes of exact paths",
    () =>
      hostObjects(
        hostOf({ ...GATEWAY, paths: "Exact" }),
        routesAt(...Array.from({ length: 300 }, (_, n) => `/p/${n}`)),
        RELEASE(),
      ),
  ],
  ["a grant", () => hostObjects(hostOf(GATEWAY), routesAt("/a"), { ...RELEASE(), namespace: "default" })],
];

describe("the children of routes", () => {
  it.each(CASES)("are taken as they are and cause no second write: %s", async (_, make) => {
    const objects = make();
    expect(objects.length).toBeGreaterThan(0);
    for (const object of objects) {
      const applied = await apply(object);
      expect([object.kind, difference(applied as never, object)]).toEqual([object.kind, undefined]);
      const live = await cluster.admin.get(path(object));
      expect([object.kind, difference(live as never, object)]).toEqual([object.kind, undefined]);
    }
  });

  it.each<[kind: string, change: object, field: string]>([
    ["Deployment", { spec: { replicas: 7 } }, "spec.replicas"],
    [
      "Deployment",
      { spec: { template: { spec: { automountServiceAccountToken: false } } } },
      "spec.template.spec.automountServiceAccountToken",
    ],
    ["Role", { rules: [] }, "rules"],
    ["Secret", { data: { "davit.yaml": "" } }, "data.davit.yaml"],
    ["ServiceAccount", { metadata: { labels: { "davit.dev/worker": null } } }, "metadata.labels.davit.dev/worker"],
    ["PodDisruptionBudget", { spec: { maxUnavailable: "50%" } }, "spec.maxUnavailable"],
  ])("are found and restored when somebody edits a %s: %j", async (kind, change, field) => {
    const object = dedicated("edited", { replicas: 2 }).find((one) => one.kind === kind);
    if (object === undefined) throw new Error(`no ${kind}`);
    await apply(object);
    const edited = await cluster.admin.patch(path(object), change);
    expect(difference(edited as never, object)).toBe(field);
    expect(difference((await apply(object)) as never, object)).toBeUndefined();
  });

  it("lose what a route no longer asks for", async () => {
    const make = (spec: Parameters<typeof dedicatedOf>[0]) =>
      dedicated("less", spec).find(({ kind }) => kind === "Deployment");
    const [before, after] = [make(FULL), make({})];
    if (before === undefined || after === undefined) throw new Error("no Deployment");
    const live = await apply(before);
    expect(difference(live as never, after)).toBeDefined();
    const { spec } = (await apply(after))["spec"].template;
    expect([spec.nodeSelector, spec.tolerations, spec.containers[0].resources]).toEqual([undefined, undefined, {}]);
  });

  it("are Pods that a namespace with restricted Pod Security lets in", async () => {
    const objects = workers({ scope: { namespace, route: "pods" }, dedicated: dedicatedOf({ image: "handler:1" }) });
    for (const object of objects) await apply(object);
    const selector = encodeURIComponent(`davit.dev/worker=${objects[0]?.metadata.labels["davit.dev/worker"]}`);
    const pods = () => cluster.admin.list(`/api/v1/namespaces/${namespace}/pods?labelSelector=${selector}`);
    await expect.poll(async () => (await pods()).length).toBe(1);
  });
});

describe("the number of workers", () => {
  const AUTOSCALED: WantedReplicas = { type: "autoscaled" };
  const NOW = Date.parse("2026-01-02T03:04:05Z");

  /** One reconcile; what it applied last. @returns `spec.replicas` after each apply */
  async function reconcile(route: string, wanted: WantedReplicas, now: number): Promise<number[]> {
    const make = (replicas: WorkerInput["replicas"]) => {
      const spec =
        wanted.type === "fixed" ? { replicas: wanted.replicas } : { autoscaling: { type: "External" as const } };
      const object = dedicated(route, spec, { replicas }).find(({ kind }) => kind === "Deployment");
      if (object === undefined) throw new Error("no Deployment");
      return object;
    };
    const { body } = await cluster.admin.request("GET", path(make({ owner: "davit" })));
    const live = body.kind === "Deployment" ? (body as never) : undefined;
    const plan = replicaPlan(liveReplicas(live), wanted, now);
    const object = make(plan);
    const seen: number[] = [];
    if (plan.handOver !== undefined) {
      const handed = await apply(handOverPatch(object.metadata, plan.handOver), HAND_OVER_MANAGER);
      seen.push(handed["spec"].replicas);
    }
    return [...seen, (await apply(object))["spec"].replicas];
  }

  async function scale(route: string, replicas: number): Promise<void> {
    const [object] = dedicated(route, {}).filter(({ kind }) => kind === "Deployment");
    if (object !== undefined) await cluster.admin.patch(`${path(object)}/scale`, { spec: { replicas } });
  }

  it("never drops to 1 when autoscaling begins and ends at 10", async () => {
    const seen = [
      ...(await reconcile("scaled", { type: "fixed", replicas: 10 }, NOW)),
      ...(await reconcile("scaled", AUTOSCALED, NOW)),
      ...(await reconcile("scaled", AUTOSCALED, NOW)),
    ];
    expect(seen).toEqual([10, 10, 10, 10]);
    await scale("scaled", 20);
    expect(await reconcile("scaled", AUTOSCALED, NOW)).toEqual([20]);
    const down: number[] = [];
    for (let step = 0; step < 5; step += 1) {
      down.push(...(await reconcile("scaled", { type: "fixed", replicas: 10 }, NOW + step * STEP_MS)));
    }
    expect(down).toEqual([20, 16, 13, 11, 10]);
    expect(await reconcile("scaled", { type: "fixed", replicas: 10 }, NOW + 6 * STEP_MS)).toEqual([10]);
  });

  it("would drop to 1 without the hand-over, which is why there is one", async () => {
    const make = (replicas: WorkerInput["replicas"]) =>
      dedicated("dropped", {}, { replicas }).filter(({ kind }) => kind === "Deployment");
    for (const object of make({ replicas: 10, owner: "davit" })) await apply(object);
    for (const object of make({ owner: "autoscaler" })) expect((await apply(object))["spec"].replicas).toBe(1);
  });
});
