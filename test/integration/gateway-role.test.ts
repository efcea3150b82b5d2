import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { entrySecretName, REJECTED_ANNOTATION, SERVED_SEQ_ANNOTATION } from "../../src/api/names.ts";
import { aclRules } from "../../src/custody/redis/user-rules.ts";
import { SECRETS } from "../../src/kube/core-types.ts";
import { PUBLICATION_KEY, released } from "../../src/routes/publication.ts";
import { waitFor } from "../support/dev-process.ts";
import { Load, post } from "../support/roles/load.ts";
import { type Release, startRelease, TENANT } from "../support/roles/release.ts";
import type { RoleProcess } from "../support/roles/role-process.ts";
import { openRoute } from "../support/roles/routes.ts";

const NOWHERE = "http://127.0.0.1:9/";
const route = (name: string, seq: number, changes = {}) => openRoute(name, seq, NOWHERE, changes);

describe("davit gateway", () => {
  let release: Release;
  beforeEach(async () => {
    release = await startRelease();
  });
  afterEach(() => release.stop());

  const served = async () => Number((await release.lease("pod-a"))?.metadata.annotations?.[SERVED_SEQ_ANNOTATION] ?? 0);
  const reaches = (gateway: RoleProcess, seq: number) =>
    gateway.waitFor(`the Lease to say ${seq}`, async () => (await served()) === seq);
  const statusOf = (gateway: RoleProcess, path: string, id = "one") => post(gateway.url + path, id);

  test("serves what is published and follows it, and says how far it is on a Lease that its Pod owns", async () => {
    await release.publish(route("orders", 10));
    const gateway = await release.gateway().ready();
    expect(await statusOf(gateway, "/orders")).toBe(202);
    expect(await statusOf(gateway, "/refunds")).toBe(404);
    await reaches(gateway, 10);
    expect((await release.lease("pod-a"))?.metadata).toMatchObject({
      ownerReferences: [{ kind: "Pod", name: "pod-a", uid: "uid-of-pod-a" }],
      labels: { "davit.dev/component": "serving", "davit.dev/instance": "default" },
    });

    await release.publish(route("refunds", 11));
    await reaches(gateway, 11);
    expect(await statusOf(gateway, "/refunds")).toBe(202);
    expect(await gateway.metric("davit_served_seq")).toBe(11);

    await release.unpublish(route("refunds", 11));
    await gateway.waitFor("the route to vanish", async () => (await statusOf(gateway, "/refunds")) !== 202);
    expect(await statusOf(gateway, "/refunds")).toBe(503);
  });

  test("answers 503 where a route was released a short time ago, and 404 where it was long ago, also if it never served them", async () => {
    for (const [name, ageMs] of [
      ["lately", 60_000],
      ["long-ago", 3_600_000],
    ] as const) {
      await release.publish(route(name, 5), () => released(route(name, 4), 5, Date.now() - ageMs));
    }
    const gateway = await release.gateway().ready();
    expect(await statusOf(gateway, "/lately")).toBe(503);
    expect(await statusOf(gateway, "/long-ago")).toBe(404);
  });

  test("serves on what it has of a route whose publication is broken or too new, and names it", async () => {
    await release.publish(route("broken", 10));
    await release.publish(route("too-new", 11));
    const gateway = await release.gateway().ready();
    await release.publish(route("broken", 12), () => ({ nonsense: true }));
    await release.publish(route("too-new", 13), (all) => ({ ...all, minReader: 9 }));
    await release.publish(route("unseen", 14), (all) => ({ ...all, minReader: 9 }));
    await release.publish(route("fine", 15));
    await reaches(gateway, 15);
    const answers = await Promise.all(
      ["/broken", "/too-new", "/unseen", "/fine"].map((path) => statusOf(gateway, path)),
    );
    expect(answers).toEqual([202, 202, 503, 202]);
    const rejected = (await release.lease("pod-a"))?.metadata.annotations?.[REJECTED_ANNOTATION] ?? "{}";
    expect(JSON.parse(rejected)).toEqual({
      [entrySecretName("default", TENANT, "broken")]: 0,
      [entrySecretName("default", TENANT, "too-new")]: 13,
      [entrySecretName("default", TENANT, "unseen")]: 14,
    });
    expect(await gateway.metric('davit_rejected_publications{code="TooNew"}')).toBe(2);
    expect(gateway.lines("upgrade the gateways")).toHaveLength(2);

    await release.publish(route("broken", 16));
    await reaches(gateway, 16);
    expect(await gateway.metric('davit_rejected_publications{code="Malformed"}')).toBe(0);
  });

  test("looks at nothing but the published routes of its instance", async () => {
    const gateway = await release.gateway().ready();
    await reaches(gateway, 0);
    const asked = release.api.requests.filter(({ verb }) => verb === "list" || verb === "watch");
    expect(new Set(asked.map(({ plural, namespace }) => `${plural} ${namespace}`))).toEqual(
      new Set(["secrets davit-routes", "leases davit-system"]),
    );
    const foreign = { "davit.dev/instance": "blue" };
    const data = { [PUBLICATION_KEY]: Buffer.from(JSON.stringify({})).toString("base64") };
    const secrets = release.client.resource(SECRETS);
    await secrets.create({
      metadata: { namespace: "davit-routes", name: "other", labels: foreign },
      type: "davit.dev/route",
      data,
    });
    await release.publish(route("orders", 20));
    await reaches(gateway, 20);
    expect((await release.lease("pod-a"))?.metadata.annotations?.[REJECTED_ANNOTATION]).toBe("{}");
  });

  test("serves through 10 s without an API server, and what was published meanwhile soon after", async () => {
    await release.publish(route("orders", 10));
    const gateway = await release.gateway().ready();
    const load = new Load(() => `${gateway.url}/orders`);
    await gateway.waitFor("some traffic", () => (load.outcomes[202] ?? 0) > 20);
    release.api.freeze();
    release.api.cut();
    await sleep(10_000);
    expect((await gateway.readyz()).status).toBe(200);
    release.api.thaw();
    release.api.cut();
    await release.publish(route("refunds", 11));
    await reaches(gateway, 11);
    expect(await statusOf(gateway, "/refunds")).toBe(202);
    expect(Object.keys(await load.stop())).toEqual(["202"]);
  });

  test("serves at once after a restart without an API server, from a table that only it may read", async () => {
    const cacheDir = join(release.dir, "cache");
    await release.publish(route("orders", 10));
    await release.publish(route("orders", 11, { response: { status: 200 } }));
    const before = await release.gateway({ cacheDir }).ready();
    expect(await before.end()).toBe(0);
    expect(statSync(join(cacheDir, "routes.cache")).mode & 0o777).toBe(0o600);

    release.api.freeze();
    const after = await release.gateway({ cacheDir }).ready();
    expect(await statusOf(after, "/orders")).toBe(200);
    release.api.thaw();
    release.api.cut();
    await release.publish(route("orders", 12));
    await after.waitFor("the newest version", async () => (await statusOf(after, "/orders", "two")) === 202);
  });

  test("forgets after a restart what was deleted while it was down", async () => {
    const cacheDir = join(release.dir, "cache");
    await release.publish(route("orders", 10));
    await (await release.gateway({ cacheDir }).ready()).end();
    await release.unpublish(route("orders", 10));
    const gateway = await release.gateway({ cacheDir }).listening();
    await gateway.waitFor("a list", () => gateway.lines("are listed").length > 0);
    expect(await statusOf(gateway, "/orders")).toBe(503);
  });

  test("is not ready without an API server and without a table, and says why", async () => {
    release.api.forbid(({ plural }) => plural === "secrets");
    const gateway = await release.gateway().listening();
    await gateway.waitFor("the cause", async () => (await gateway.readyz()).text.includes("403"));
    const { status, text } = await gateway.readyz();
    expect(status).toBe(503);
    expect(text).toMatch(/no route is known: .*namespace davit-routes.*kubectl auth can-i/s);
  });

  test("is not ready while its Redis user lacks a right, says which, and recovers by itself", async () => {
    const admin = release.redis.client();
    const setUser = (rules: string) =>
      admin.call("ACL", "SETUSER", "edge", "reset", "on", ">edge", ...rules.split(" "));
    await setUser("~* &* +@all -evalsha");
    await release.publish(route("orders", 10));
    const url = release.redis.url.replace("://", "://edge:edge@");
    const gateway = await release.gateway({}, url).listening();
    await gateway.waitFor("the missing right", async () => (await gateway.readyz()).text.includes("evalsha"));
    expect((await gateway.readyz()).status).toBe(503);
    expect(gateway.lines("lacks rights")).toHaveLength(1);
    await setUser(aclRules({ role: "gateway", instance: "default" }).join(" "));
    await gateway.ready();
    expect(await statusOf(gateway, "/orders")).toBe(202);
  });

  test("while stopping: not ready, still serving, then gone with exit code 0", async () => {
    await release.publish(route("orders", 10));
    const gateway = await release.gateway({ shutdownDelayMs: 1_500 }).ready();
    const ended = gateway.end();
    await gateway.waitFor("it to be not ready", async () => (await gateway.readyz()).status === 503);
    expect((await gateway.readyz()).text).toContain("draining");
    const response = await fetch(`${gateway.url}/orders`, { method: "POST", body: "{}" }).catch(() => undefined);
    expect(response?.headers.get("connection")).toBe("close");
    expect(await statusOf(gateway, "/orders")).toBe(202);
    expect(await ended).toBe(0);
    await expect(statusOf(gateway, "/orders")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("ends at once at the second signal", async () => {
    const gateway = await release.gateway({ shutdownDelayMs: 60_000 }).ready();
    const ended = gateway.end();
    await gateway.waitFor("it to be stopping", () => gateway.lines("stopping").length > 0);
    await sleep(350);
    gateway.child.kill("SIGTERM");
    expect(await ended).toBe(143);
  });

  test("a rolling update under load: no request fails", async () => {
    await release.publish(route("orders", 10));
    const old = [await release.gateway({ podName: "a", shutdownDelayMs: 1_000 }).ready()];
    old.push(await release.gateway({ podName: "b", shutdownDelayMs: 1_000 }).ready());
    const pods = new Set(old);
    let ready = [...pods];
    const looking = new AbortController();
    // What a load balancer does: it goes by readiness, which it looks at now and then.
    const balancer = (async () => {
      while (!looking.signal.aborted) {
        const states = await Promise.all([...pods].map(async (pod) => [pod, await isReady(pod)] as const));
        ready = states.filter(([, is]) => is).map(([pod]) => pod);
        await sleep(200);
      }
    })();
    let next = 0;
    const load = new Load(() => `${ready[next++ % ready.length]?.url}/orders`, 8);
    for (const [index, pod] of old.entries()) {
      pods.add(await release.gateway({ podName: `new-${index}` }).ready());
      await waitFor("the new Pod to get traffic", () => ready.length === 3);
      expect(await pod.end()).toBe(0);
      pods.delete(pod);
    }
    const outcomes = await load.stop();
    looking.abort();
    await balancer;
    expect(Object.keys(outcomes)).toEqual(["202"]);
    expect(outcomes[202]).toBeGreaterThan(100);
  });
});

async function isReady(pod: RoleProcess): Promise<boolean> {
  return (await pod.readyz().catch(() => ({ status: 0 }))).status === 200;
}
