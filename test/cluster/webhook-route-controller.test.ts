import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMPONENT_LABEL, entrySecretName, workerName } from "../../src/api/names.ts";
import { sharedCluster } from "../support/cluster.ts";
import { PATCH } from "../support/control-plane/client.ts";
import { measured } from "../support/operator/polling.ts";
import { ControllerRelease, HOST } from "../support/roles/controller-release.ts";

const cluster = sharedCluster();
let release: ControllerRelease;
let shop: string;

beforeAll(async () => {
  release = await ControllerRelease.create(cluster);
  await release.start();
  await release.gateway("gateway-0", Number.MAX_SAFE_INTEGER);
});
afterAll(() => release.stop());

const poll = { timeout: 60_000, interval: 50 };
const SIGNED = { verification: { hmac: { header: "X-Signature" } }, secretRefs: [{ name: "in", key: "key" }] };
const unique = (name: string) => `${name}-${randomUUID().slice(0, 8)}`;

/** A namespace with a route that checks signatures with the key `one`. */
async function signedRoute(name = "orders"): Promise<string> {
  const namespace = await cluster.namespace("shop");
  await release.secret(namespace, "in", { key: "one" });
  await release.secret(namespace, "davit-redis", { url: release.redis.url });
  await release.route(namespace, name, SIGNED);
  await expect.poll(() => release.keys(namespace, name), poll).toEqual(["current one"]);
  return namespace;
}

/** Says of all Pods of a namespace that they run, as a kubelet would. */
async function podsRun(namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  await expect.poll(async () => (await cluster.admin.get(path))["items"].length, poll).toBeGreaterThan(0);
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: new Date().toISOString() }];
  for (const { metadata } of (await cluster.admin.get(path))["items"]) {
    const status = { phase: "Running", conditions };
    await cluster.admin.request("PATCH", `${path}/${metadata.name}/status`, { status }, PATCH.merge);
  }
}

describe("a WebhookRoute", () => {
  test("is published, gets workers, and is Ready once gateways serve it and workers run", async () => {
    shop = await signedRoute();
    expect(await release.entry(shop, "orders")).toMatchObject({ host: HOST, path: `/${shop}/orders`, suspend: "None" });
    const children = await Promise.all(
      [
        "apps/v1/deployments",
        "v1/serviceaccounts",
        "rbac.authorization.k8s.io/v1/roles",
        "rbac.authorization.k8s.io/v1/rolebindings",
      ].map((kind) =>
        expect
          .poll(async () => (await release.list(shop, kind)).map(({ metadata }) => metadata.name), poll)
          .toContain(workerName(release.instance, { namespace: shop })),
      ),
    );
    expect(children).toHaveLength(4);
    await expect.poll(() => release.condition(shop, "orders", "Ready"), poll).toBe("False/WorkersUnavailable");
    await podsRun(shop);
    await expect.poll(() => release.condition(shop, "orders", "Ready"), poll).toBe("True/Reconciled");
    expect(await release.status(shop, "orders")).toMatchObject({ url: `https://${HOST}/${shop}/orders` });
  });

  test("that is not valid says so and is not published", async () => {
    await release.route(shop, "unknown", {
      verification: { provider: "nobody" },
      secretRefs: [{ name: "in", key: "key" }],
    });
    await expect.poll(() => release.condition(shop, "unknown", "Accepted"), poll).toBe("False/InvalidSpec");
    expect(await release.publication(shop, "unknown")).toBeUndefined();
  });

  test("of a host that the release does not have is refused", async () => {
    await release.route(shop, "foreign", { exposure: { host: "other.example.com", path: "/x" } });
    await expect.poll(() => release.condition(shop, "foreign", "Accepted"), poll).toBe("False/HostNotAllowed");
    expect(await release.publication(shop, "foreign")).toBeUndefined();
  });

  test("that changes keeps its seq growing, and one that says the same is not written again", async () => {
    const before = await release.entry(shop, "orders");
    await release.patchRoute(shop, "orders", { metadata: { labels: { team: "payments" } } });
    await release.patchRoute(shop, "orders", { spec: { response: { status: 204 } } });
    await expect.poll(async () => (await release.entry(shop, "orders"))?.response.status, poll).toBe(204);
    const after = await release.entry(shop, "orders");
    expect(after?.seq).toBeGreaterThan(before?.seq ?? Infinity);
  });
});

describe("key rings", () => {
  test("accept the previous key after a change, and both after a second one", async () => {
    const namespace = await signedRoute();
    await release.secret(namespace, "in", { key: "two" });
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current two", "previous one"]);
    await expect.poll(async () => (await release.status(namespace, "orders")).rotation?.keys?.length, poll).toBe(2);
    await release.secret(namespace, "in", { key: "a-third-key", "key.next": "a-fourth-key" });
    const four = ["current a-third-key", "next a-fourth-key", "previous two", "previous one"];
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(four);
    expect(JSON.stringify(await release.status(namespace, "orders"))).not.toMatch(/a-third-key|a-fourth-key/);
    expect(release.output).not.toMatch(/a-third-key|a-fourth-key/);
  });

  test("end previous keys at once when the annotation asks, and once only", async () => {
    const namespace = await signedRoute();
    await release.secret(namespace, "in", { key: "two" });
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current two", "previous one"]);
    const at = "2026-11-30T12:00:00Z";
    await release.patchRoute(namespace, "orders", {
      metadata: { annotations: { "davit.dev/revoke-previous-at": at } },
    });
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current two"]);
    await expect
      .poll(async () => (await release.status(namespace, "orders")).lastHandled, poll)
      .toEqual({ revokePreviousAt: at });
    await release.secret(namespace, "in", { key: "three" });
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current three", "previous two"]);
  });

  test("keep the last key for the overlap when the Secret goes, and say at once that it is gone", async () => {
    const namespace = await signedRoute();
    await cluster.admin.request("DELETE", `/api/v1/namespaces/${namespace}/secrets/in`);
    await expect
      .poll(() => release.condition(namespace, "orders", "SecretsResolved"), poll)
      .toBe("False/SecretNotFound");
    expect(await release.keys(namespace, "orders")).toEqual(["previous one"]);
    await release.secret(namespace, "in", { key: "two\n" });
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current two", "previous one"]);
    await expect.poll(() => release.condition(namespace, "orders", "SecretsResolved"), poll).toBe("True/Reconciled");
  });

  test("end when their overlap has passed", async () => {
    const namespace = await signedRoute();
    await release.patchRoute(namespace, "orders", { spec: { rotation: { overlap: "2s" } } });
    await release.secret(namespace, "in", { key: "two" });
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current two", "previous one"]);
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current two"]);
  });

  test("of outgoing signing keys are kept in the tenant's namespace, reach workers, and never gateways", async () => {
    const namespace = await cluster.namespace("shop");
    const labels = { "davit.dev/use": "true" };
    await release.secret(namespace, "out", { key: "sign-1" }, labels);
    const delivery = { signing: { scheme: "StandardWebhooks", secretRef: { name: "out", key: "key" } } } as const;
    await release.route(namespace, "orders", { delivery });
    const ring = async () => {
      const secrets = await release.list(namespace, "v1/secrets");
      const found = secrets.find(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === "ring");
      const { keys = [] } = found ? JSON.parse(Buffer.from(found["data"]["ring.json"], "base64").toString()) : {};
      return keys.map(
        ({ state, value }: { state: string; value: string }) => `${state} ${Buffer.from(value, "base64").toString()}`,
      );
    };
    await expect.poll(ring, poll).toEqual(["current sign-1"]);
    await release.secret(namespace, "out", { key: "sign-2" });
    await expect.poll(ring, poll).toEqual(["current sign-2", "previous sign-1"]);
    const entry = await release.entry(namespace, "orders");
    expect(entry?.destinations[0]?.signing?.keys).toEqual([]);
  });
});

describe("places", () => {
  test("stay with the route that has them, whatever the other's age, and an edited one goes on where it was", async () => {
    const [mine, theirs] = [await cluster.namespace("mine"), await cluster.namespace("theirs")];
    await release.route(theirs, "late", {});
    await expect.poll(() => release.entry(theirs, "late"), poll).toBeDefined();
    await release.route(mine, "first");
    await expect.poll(() => release.entry(mine, "first"), poll).toBeDefined();
    await release.patchRoute(theirs, "late", { spec: { exposure: { path: `/${mine}/first` } } });
    await expect.poll(() => release.condition(theirs, "late", "Accepted"), poll).toBe("False/HostPathConflict");
    expect((await release.entry(mine, "first"))?.path).toBe(`/${mine}/first`);
    expect((await release.entry(theirs, "late"))?.path).toBe(`/${theirs}/late`);
  });

  test("go at once to the next route of the namespace, and stay with the namespace when they are let go", async () => {
    const [mine, theirs] = [await cluster.namespace("mine"), await cluster.namespace("theirs")];
    const exposure = { host: HOST, path: `/${unique("place")}` };
    await release.route(mine, "one", { exposure });
    await expect.poll(() => release.entry(mine, "one"), poll).toBeDefined();
    await release.route(theirs, "stranger", { exposure });
    await release.route(mine, "two", { exposure });
    await expect.poll(() => release.condition(mine, "two", "Accepted"), poll).toBe("False/HostPathConflict");
    await release.deleteRoute(mine, "one");
    await expect.poll(() => release.entry(mine, "two"), poll).toBeDefined();
    await release.deleteRoute(mine, "two");
    await expect.poll(() => release.publication(mine, "two"), poll).toHaveProperty("released");
    await expect.poll(() => release.condition(theirs, "stranger", "Accepted"), poll).toBe("False/HostPathConflict");
    expect(await release.publication(theirs, "stranger")).toBeUndefined();
  });

  test("swap between two routes of a namespace", async () => {
    const namespace = await cluster.namespace("swap");
    const [left, right] = [`/${unique("left")}`, `/${unique("right")}`];
    await release.route(namespace, "a", { exposure: { host: HOST, path: left } });
    await release.route(namespace, "b", { exposure: { host: HOST, path: right } });
    await expect.poll(() => release.entry(namespace, "b"), poll).toBeDefined();
    await release.patchRoute(namespace, "a", { spec: { exposure: { path: right } } });
    await release.patchRoute(namespace, "b", { spec: { exposure: { path: left } } });
    await expect.poll(async () => (await release.entry(namespace, "a"))?.path, poll).toBe(right);
    await expect.poll(async () => (await release.entry(namespace, "b"))?.path, poll).toBe(left);
    await expect.poll(() => release.condition(namespace, "a", "Accepted"), poll).toBe("True/Reconciled");
  });

  test("that a route moves away from stay with its namespace, also when it comes back", async () => {
    const [mine, theirs] = [await cluster.namespace("mine"), await cluster.namespace("theirs")];
    const [here, there] = [`/${unique("here")}`, `/${unique("there")}`];
    await release.route(mine, "one", { exposure: { host: HOST, path: here } });
    await expect.poll(() => release.entry(mine, "one"), poll).toBeDefined();
    await release.patchRoute(mine, "one", { spec: { exposure: { path: there } } });
    await expect.poll(async () => (await release.entry(mine, "one"))?.path, poll).toBe(there);
    await release.route(theirs, "stranger", { exposure: { host: HOST, path: here } });
    await expect.poll(() => release.condition(theirs, "stranger", "Accepted"), poll).toBe("False/HostPathConflict");
    await release.patchRoute(mine, "one", { spec: { exposure: { path: here } } });
    await expect.poll(async () => (await release.entry(mine, "one"))?.path, poll).toBe(here);
  });

  test("are free for everybody once the hold has passed", async () => {
    const other = await ControllerRelease.create(cluster, { controller: { claimHoldMs: 2_000 } });
    try {
      await other.start();
      const [mine, theirs] = [await cluster.namespace("mine"), await cluster.namespace("theirs")];
      const exposure = { host: HOST, path: `/${unique("held")}` };
      await other.route(mine, "one", { exposure });
      await expect.poll(() => other.entry(mine, "one"), poll).toBeDefined();
      await other.route(theirs, "two", { exposure });
      await expect.poll(() => other.condition(theirs, "two", "Accepted"), poll).toBe("False/HostPathConflict");
      await other.deleteRoute(mine, "one");
      await expect.poll(() => other.entry(theirs, "two"), poll).toBeDefined();
      await expect.poll(() => other.publication(mine, "one"), poll).toBeUndefined();
    } finally {
      await other.stop();
    }
  });
});

describe("children", () => {
  test("that somebody edits or deletes are made so again", async () => {
    const namespace = await signedRoute();
    const name = workerName(release.instance, { namespace });
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
    await expect.poll(async () => (await cluster.admin.request("GET", path)).status, poll).toBe(200);
    await cluster.admin.request("PATCH", path, { spec: { replicas: 7 } }, PATCH.merge);
    await expect.poll(async () => (await cluster.admin.get(path))["spec"].replicas, poll).toBe(1);
    const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/${name}`;
    await expect.poll(async () => (await cluster.admin.request("GET", role)).status, poll).toBe(200);
    await cluster.admin.request("DELETE", role);
    await expect.poll(async () => (await cluster.admin.request("GET", role)).status, poll).toBe(200);
  });

  test("go with the last route of their namespace", async () => {
    const namespace = await signedRoute();
    const deployments = () => release.list(namespace, "apps/v1/deployments");
    await expect.poll(async () => (await deployments()).length, poll).toBe(1);
    await release.deleteRoute(namespace, "orders");
    await expect.poll(async () => (await deployments()).length, poll).toBe(0);
    expect(await release.publication(namespace, "orders")).toHaveProperty("released");
    await release.route(namespace, "orders", SIGNED);
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current one"]);
    await expect.poll(async () => (await deployments()).length, poll).toBe(1);
  });

  test("of a route with workers of its own belong to it", async () => {
    const namespace = await cluster.namespace("own");
    await release.route(namespace, "big", { worker: { dedicated: { concurrency: 20 } } });
    const own = workerName(release.instance, { namespace, route: "big" });
    const shared = workerName(release.instance, { namespace });
    const names = async () =>
      (await release.list(namespace, "apps/v1/deployments")).map(({ metadata }) => metadata.name);
    await expect.poll(names, poll).toEqual([own]);
    const [deployment] = await release.list(namespace, "apps/v1/deployments");
    expect(deployment?.metadata.ownerReferences).toMatchObject([
      { kind: "WebhookRoute", name: "big", controller: true },
    ]);
    await release.patchRoute(namespace, "big", { spec: { worker: null } });
    await expect.poll(names, poll).toEqual([shared]);
  });
});

describe("entry Secrets", () => {
  const secretOf = (namespace: string) =>
    `/api/v1/namespaces/${release.roles.routesNamespace}/secrets/${entrySecretName(release.instance, namespace, "orders")}`;

  test("that somebody deletes are published again, with a higher seq", async () => {
    const namespace = await signedRoute();
    const before = (await release.entry(namespace, "orders"))?.seq ?? Infinity;
    await cluster.admin.request("DELETE", secretOf(namespace));
    await expect.poll(async () => (await release.entry(namespace, "orders"))?.seq ?? 0, poll).toBeGreaterThan(before);
  });

  test("that somebody breaks, or takes the annotations from, are written anew", async () => {
    const namespace = await signedRoute();
    await cluster.admin.request("PATCH", secretOf(namespace), { data: { "entry.json": "e30=" } }, PATCH.merge);
    await expect.poll(() => release.keys(namespace, "orders"), poll).toEqual(["current one"]);
    await cluster.admin.request("PATCH", secretOf(namespace), { metadata: { annotations: null } }, PATCH.merge);
    await release.deleteRoute(namespace, "orders");
    await expect.poll(() => release.publication(namespace, "orders"), poll).toHaveProperty("released");
  });

  test("of a newer Davit are left alone", async () => {
    const namespace = await signedRoute();
    const newer = { schema: 99, minReader: 99, seq: 1 };
    const data = { "entry.json": Buffer.from(JSON.stringify(newer)).toString("base64") };
    await cluster.admin.request("PATCH", secretOf(namespace), { data }, PATCH.merge);
    await release.secret(namespace, "in", { key: "two" });
    await expect.poll(() => release.condition(namespace, "orders", "Accepted"), poll).toBe("False/Progressing");
    expect(await release.publication(namespace, "orders")).toEqual(newer);
  });
});

describe("a host that is taken from a namespace", () => {
  test("closes its routes and keeps their keys, and opens them again with it", async () => {
    const hosts = [{ host: HOST, via: "None", allowHTTP: true, namespaces: { matchLabels: { hooks: "yes" } } }];
    const other = await ControllerRelease.create(cluster, { gateway: { hosts } });
    try {
      await other.start();
      const namespace = await cluster.namespace("labelled", { hooks: "yes" });
      const label = (hooks: string | null) =>
        cluster.admin.request(
          "PATCH",
          `/api/v1/namespaces/${namespace}`,
          { metadata: { labels: { hooks } } },
          PATCH.merge,
        );
      await other.secret(namespace, "in", { key: "one" });
      await other.route(namespace, "orders", SIGNED);
      await expect.poll(() => other.keys(namespace, "orders"), poll).toEqual(["current one"]);
      await label(null);
      await expect.poll(() => other.condition(namespace, "orders", "Accepted"), poll).toBe("False/HostNotAllowed");
      await expect.poll(async () => (await other.entry(namespace, "orders"))?.suspend, poll).toBe("Ingest");
      expect(await other.keys(namespace, "orders")).toEqual(["current one"]);
      await label("yes");
      await expect.poll(async () => (await other.entry(namespace, "orders"))?.suspend, poll).toBe("None");
    } finally {
      await other.stop();
    }
  });
});

describe("two releases", () => {
  test("are blind to each other's routes", async () => {
    const other = await ControllerRelease.create(cluster);
    try {
      await other.start();
      const namespace = await cluster.namespace("both");
      await release.route(namespace, "mine");
      await other.route(namespace, "theirs");
      await expect.poll(() => release.entry(namespace, "mine"), poll).toBeDefined();
      await expect.poll(() => other.entry(namespace, "theirs"), poll).toBeDefined();
      expect(await release.publication(namespace, "theirs")).toBeUndefined();
      const names = async () =>
        (await release.list(namespace, "apps/v1/deployments")).map(({ metadata }) => metadata.name);
      const both = [release, other].map(({ instance }) => workerName(instance, { namespace }));
      await expect.poll(async () => (await names()).toSorted(), poll).toEqual(both.toSorted());
    } finally {
      await other.stop();
    }
  });
});

describe("a controller that comes back", () => {
  test("rotates what changed while it was away, releases what went, and a namespace goes without it", async () => {
    const other = await ControllerRelease.create(cluster);
    try {
      const first = await other.start();
      const [kept, gone] = [await cluster.namespace("kept"), await cluster.namespace("gone")];
      await other.secret(kept, "in", { key: "one" });
      for (const [namespace, name] of [
        [kept, "stays"],
        [kept, "goes"],
        [gone, "all"],
      ] as const) {
        await other.route(namespace, name, namespace === kept ? SIGNED : {});
        await expect.poll(() => other.entry(namespace, name), poll).toBeDefined();
      }
      await first.end();
      await other.secret(kept, "in", { key: "two" });
      await other.deleteRoute(kept, "goes");
      await cluster.admin.request("DELETE", `/api/v1/namespaces/${gone}`);
      await expect
        .poll(async () => (await cluster.admin.request("GET", `/api/v1/namespaces/${gone}`)).status, poll)
        .toBe(404);
      await other.start();
      await expect.poll(() => other.keys(kept, "stays"), poll).toEqual(["current two", "previous one"]);
      await expect.poll(() => other.publication(kept, "goes"), poll).toHaveProperty("released");
      await expect.poll(() => other.publication(gone, "all"), poll).toHaveProperty("released");
    } finally {
      await other.stop();
    }
  });

  test("is replaced when it is killed, and nothing is made twice", async () => {
    const other = await ControllerRelease.create(cluster);
    try {
      const leader = await other.start();
      await leader.waitFor("it to lead", () => leader.lines("leading").length > 0);
      const follower = await other.start();
      const namespace = await cluster.namespace("lead");
      await other.route(namespace, "one");
      await expect.poll(() => other.entry(namespace, "one"), poll).toBeDefined();
      await leader.end("SIGKILL");
      await measured("takeover after a kill, to the next route", async () => {
        await other.route(namespace, "two");
        await expect.poll(() => other.entry(namespace, "two"), poll).toBeDefined();
      });
      expect(follower.lines("leading")).toHaveLength(1);
      const deployments = () => other.list(namespace, "apps/v1/deployments");
      await expect.poll(async () => (await deployments()).length, poll).toBe(1);
      const names = (await other.list(other.roles.routesNamespace, "v1/secrets")).map(({ metadata }) => metadata.name);
      const wanted = ["one", "two"].map((name) => entrySecretName(other.instance, namespace, name));
      expect(names.toSorted()).toEqual(wanted.toSorted());
    } finally {
      await other.stop();
    }
  });
});
