import { beforeEach, expect, test } from "vitest";
import { KubeApiError } from "../../../kube/errors.ts";
import { requestInfo } from "../../../kube/request-info.ts";
import { entryOf } from "../../../routes/testing.ts";
import type { DesiredObject } from "../children/desired-object.ts";
import type { Operator } from "../operator.ts";
import { Publications } from "../publishing/publications.ts";
import { RouteIndex } from "../watching/route-index.ts";
import { servedSecret } from "../testing.ts";
import { configOf } from "../testing-plan.ts";
import { exposureRefusal, HostReconciler } from "./host-reconciler.ts";

const config = configOf({
  gateway: {
    hosts: [
      {
        host: "hooks.example.com",
        via: "HTTPRoute",
        paths: "Exact",
        parentRefs: [{ name: "public", namespace: "gateways" }],
        namespaces: { matchLabels: {} },
      },
    ],
  },
});
const [host] = config.gateway.hosts;
const refusal = (status: number) =>
  new KubeApiError({
    status,
    body: { message: "denied by policy" },
    request: requestInfo("PATCH", "/apis/gateway.networking.k8s.io/v1/namespaces/bad/httproutes/x", false),
  });

let refuse: number | undefined;
let applied: string[];
let queued: string[];
let operator: Operator;

beforeEach(() => {
  [refuse, applied, queued] = [403, [], []];
  const publications = new Publications();
  for (const namespace of ["bad", "good"]) {
    publications.put(
      servedSecret({ ...entryOf(), namespace, name: "r", host: "hooks.example.com", path: `/${namespace}` }),
    );
  }
  const children = {
    state: () => "Synced",
    isAvailable: () => true,
    list: () => [],
    ensure: async ({ kind, metadata }: DesiredObject) => {
      if (kind === "HTTPRoute" && metadata.namespace === "bad" && refuse !== undefined) throw refusal(refuse);
      if (kind === "HTTPRoute") applied.push(metadata.namespace);
    },
  };
  operator = {
    config,
    children,
    publications,
    routes: new RouteIndex(),
    namespace: () => ({ metadata: { labels: {} } }),
    refusedExposures: new Map(),
    enqueue: { route: (key: string) => queued.push(key) },
  } as unknown as Operator;
});

const reconcile = () => new HostReconciler(operator).reconcile("hooks.example.com/", new AbortController().signal);
const said = (namespace: string) => (host === undefined ? undefined : exposureRefusal(operator, host, namespace));

test("what the API server refuses in one namespace keeps no other one from being exposed, and is kept for its routes alone", async () => {
  await expect(reconcile()).rejects.toMatchObject({ code: "Forbidden" });
  expect(applied).toEqual(["good"]);
  expect(said("bad")).toContain("denied by policy");
  expect(said("good")).toBeUndefined();
  expect(queued).toEqual(["bad/r"]);
});

test("a refusal is news once, and its end too", async () => {
  await reconcile().catch(() => undefined);
  await reconcile().catch(() => undefined);
  expect(queued).toEqual(["bad/r"]);
  refuse = undefined;
  await reconcile();
  expect([said("bad"), queued]).toEqual([undefined, ["bad/r", "bad/r"]]);
});

test("a server that is overloaded refuses nothing", async () => {
  refuse = 503;
  await expect(reconcile()).rejects.toMatchObject({ status: 503 });
  expect(said("bad")).toBeUndefined();
});
