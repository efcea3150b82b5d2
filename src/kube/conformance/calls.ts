import { beforeEach, expect, test } from "vitest";
import type { KubeClient } from "../client.ts";
import { CONFIG_MAPS, SECRETS } from "../core-types.ts";
import { isAtLeast, serverVersion, serves } from "../discovery.ts";
import { clientOf, configMap, failsWith, type ConformanceServer } from "./fixtures.ts";

/** Reading and writing single objects. */
export function callsConformance(server: () => ConformanceServer): void {
  let client: KubeClient;
  let namespace: string;
  beforeEach(async () => {
    client = clientOf(server().auth);
    namespace = await server().namespace();
  });
  const maps = () => client.resource(CONFIG_MAPS);
  const ref = (name: string) => ({ namespace, name });

  test("a created object can be read, with an identity, a version and its type", async () => {
    const created = await maps().create(configMap(namespace, "a", { k: "1" }));
    expect(created.metadata).toMatchObject({ namespace, name: "a", uid: expect.stringMatching(/.{8}/) });
    expect(await maps().get(ref("a"))).toEqual(created);
    expect(created).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", data: { k: "1" } });
  });

  test("what does not exist is NotFound; `find` makes it undefined and `delete` false", async () => {
    await failsWith(maps().get(ref("none")), "NotFound");
    expect(await maps().find(ref("none"))).toBeUndefined();
    expect(await maps().delete(ref("none"))).toBe(false);
  });

  test("a kind or a namespace that does not exist is NotFound", async () => {
    const unknown = client.resource({ ...CONFIG_MAPS, group: "none.example.com" });
    await expect(unknown.list(namespace)).rejects.toThrow(/is its CustomResourceDefinition installed/);
    await failsWith(maps().create(configMap("no-such-namespace", "a")), "NotFound");
  });

  test("a name that is taken is AlreadyExists, and the object stays as it was", async () => {
    await maps().create(configMap(namespace, "a", { k: "1" }));
    await failsWith(maps().create(configMap(namespace, "a", { k: "2" })), "AlreadyExists");
    expect((await maps().get(ref("a"))).data).toEqual({ k: "1" });
  });

  test("a list gives everything at one version, page by page, each item with its type", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await maps().create(configMap(namespace, name));
    const { items, resourceVersion } = await maps().list(namespace, { pageSize: 2, labelSelector: "!system" });
    const own = items.filter(({ metadata }) => metadata.name.length === 1);
    expect(own.map(({ metadata, kind, apiVersion }) => [metadata.name, kind, apiVersion])).toEqual(
      ["a", "b", "c", "d", "e"].map((name) => [name, "ConfigMap", "v1"]),
    );
    expect(resourceVersion).toMatch(/^\d+$/);
  });

  test("selectors choose by label and by field", async () => {
    await maps().create(configMap(namespace, "a", {}, { tier: "x" }));
    await maps().create(configMap(namespace, "b", {}, { tier: "y" }));
    const names = async (options: object) =>
      (await maps().list(namespace, options)).items.map(({ metadata }) => metadata.name);
    expect(await names({ labelSelector: "tier=x" })).toEqual(["a"]);
    expect(await names({ fieldSelector: "metadata.name=b" })).toEqual(["b"]);
  });

  test("an update needs the version it read: an older one is a Conflict and changes nothing", async () => {
    const first = await maps().create(configMap(namespace, "a", { k: "1" }));
    const second = await maps().update({ ...first, data: { k: "2" } });
    await failsWith(maps().update({ ...first, data: { k: "3" } }), "Conflict");
    expect(await maps().get(ref("a"))).toEqual(second);
  });

  test("an update without a version is not even sent", async () => {
    await maps().create(configMap(namespace, "a", { k: "1" }));
    await expect(maps().update(configMap(namespace, "a", { k: "2" }))).rejects.toThrow(TypeError);
    expect((await maps().get(ref("a"))).data).toEqual({ k: "1" });
  });

  test("a merge patch sets, and removes by null; with an old version or another uid it is a Conflict", async () => {
    const first = await maps().create(configMap(namespace, "a", { k: "1", l: "1" }));
    const { resourceVersion, uid } = first.metadata;
    const patched = await maps().mergePatch(ref("a"), { data: { k: "2", l: null } }, { resourceVersion, uid });
    expect(patched.data).toEqual({ k: "2" });
    await failsWith(maps().mergePatch(ref("a"), { data: { k: "3" } }, { resourceVersion }), "Conflict");
    await failsWith(maps().mergePatch(ref("a"), { data: { k: "3" } }, { uid: OTHER_UID }), "Conflict");
    expect((await maps().get(ref("a"))).data).toEqual({ k: "2" });
  });

  test("a delete for another uid or version is a Conflict and deletes nothing", async () => {
    const { metadata } = await maps().create(configMap(namespace, "a"));
    await failsWith(maps().delete(ref("a"), { uid: OTHER_UID }), "Conflict");
    await failsWith(maps().delete(ref("a"), { resourceVersion: "1" }), "Conflict");
    expect(await maps().delete(ref("a"), { uid: metadata.uid, resourceVersion: metadata.resourceVersion })).toBe(true);
    expect(await maps().find(ref("a"))).toBeUndefined();
  });

  test("an object with a finalizer stays, marked as being deleted, until the finalizer is removed", async () => {
    const object = configMap(namespace, "a");
    await maps().create({ ...object, metadata: { ...object.metadata, finalizers: ["example.com/hold"] } });
    await maps().delete(ref("a"));
    const held = await maps().get(ref("a"));
    expect(held.metadata.deletionTimestamp).toMatch(/^\d{4}-/);
    await maps().mergePatch(ref("a"), { metadata: { finalizers: null } }, held.metadata);
    expect(await maps().find(ref("a"))).toBeUndefined();
  });

  test("who is not allowed gets Forbidden, with the command that shows it", async () => {
    const stranger = clientOf(server().stranger).resource(SECRETS);
    await failsWith(stranger.list(namespace), "Forbidden");
    await expect(stranger.list(namespace)).rejects.toThrow(`kubectl auth can-i list secrets --namespace ${namespace}`);
    await expect(stranger.list(undefined)).rejects.toThrow("kubectl auth can-i list secrets --all-namespaces");
  });

  test("credentials that are not accepted are Unauthorized, after one look whether there are better ones", async () => {
    const { auth } = server();
    let asked = 0;
    const refusing = {
      server: auth.server,
      credentials: async () => ({ tls: caOnly(await auth.credentials()), headers: { authorization: "Bearer no" } }),
      refresh: () => {
        asked += 1;
      },
    };
    await failsWith(clientOf(refusing).resource(CONFIG_MAPS).list(namespace), "Unauthorized");
    expect(asked).toBe(1);
  });

  test("credentials that got better meanwhile are used without anybody noticing", async () => {
    const { auth } = server();
    let refused = false;
    const renewed = {
      server: auth.server,
      credentials: async () => {
        const good = await auth.credentials();
        return refused ? good : { tls: caOnly(good), headers: { authorization: "Bearer no" } };
      },
      refresh: () => {
        refused = true;
      },
    };
    await expect(clientOf(renewed).resource(CONFIG_MAPS).create(configMap(namespace, "a"))).resolves.toMatchObject({});
  });

  test("discovery tells the version and which kinds are served", async () => {
    const { transport } = client;
    expect(isAtLeast(await serverVersion(transport), 1, 30)).toBe(true);
    expect(await serves(transport, CONFIG_MAPS)).toBe(true);
    expect(await serves(transport, { ...CONFIG_MAPS, plural: "nothings" })).toBe(false);
    expect(await serves(transport, { ...CONFIG_MAPS, group: "none.example.com" })).toBe(false);
  });

  test("a caller that gives up gets its own reason", async () => {
    const reason = new Error("enough");
    await expect(maps().get(ref("a"), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
}

const OTHER_UID = "00000000-0000-4000-8000-000000000001";

const caOnly = ({ tls: { ca } }: { readonly tls: { readonly ca?: string | Buffer } }) => (ca ? { ca } : {});
