import { beforeEach, expect, test } from "vitest";
import type { KubeClient } from "../client.ts";
import { CONFIG_MAPS, SECRETS } from "../core-types.ts";
import { clientOf, configMap, eventually, reflecting, type ConformanceServer } from "./fixtures.ts";

/** List and watch, while nothing goes wrong. */
export function watchingConformance(server: () => ConformanceServer): void {
  let client: KubeClient;
  let namespace: string;
  beforeEach(async () => {
    client = clientOf(server().auth);
    namespace = await server().namespace();
  });
  const maps = () => client.resource(CONFIG_MAPS);
  const watch = (options: object = {}) =>
    reflecting(server().auth, { type: CONFIG_MAPS, namespace, labelSelector: "test", ...options });
  const own = (name: string, data = {}) => configMap(namespace, name, data, { test: "yes" });

  test("what is there comes with the list, what happens then with the watch, in order", async () => {
    await maps().create(own("a"));
    const { reflector, said } = watch();
    await reflector.synced;
    expect([...reflector.store.keys()]).toEqual([`${namespace}/a`]);
    await maps().create(own("b"));
    await maps().mergePatch({ namespace, name: "a" }, { data: { k: "2" } }, {});
    await maps().delete({ namespace, name: "b" });
    await eventually(() => expect(said).toEqual(["+a", "+b", "~a", "-b"]));
    expect(reflector.store.get(`${namespace}/a`)?.data).toEqual({ k: "2" });
  });

  test("objects carry their type and neither managedFields nor kubectl's copy", async () => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "yes" };
    await maps().create({ ...own("a"), metadata: { ...own("a").metadata, annotations } });
    const { reflector, said } = watch();
    await reflector.synced;
    await maps().create(own("b"));
    await eventually(() => expect(said).toContain("+b"));
    for (const name of ["a", "b"]) {
      const object = reflector.store.get(`${namespace}/${name}`);
      expect(object).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
      expect(object?.metadata).not.toHaveProperty("managedFields");
    }
    expect(reflector.store.get(`${namespace}/a`)?.metadata.annotations).toEqual({ kept: "yes" });
  });

  test("a list longer than a page is read to its end", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await maps().create(own(name));
    const { reflector } = watch({ pageSize: 2 });
    await reflector.synced;
    expect(reflector.store.size).toBe(5);
  });

  test("an object that no longer matches the selector is gone, one that begins to is new", async () => {
    await maps().create(own("a"));
    const { reflector, said } = watch();
    await reflector.synced;
    await maps().mergePatch({ namespace, name: "a" }, { metadata: { labels: { test: null } } }, {});
    await eventually(() => expect(said).toEqual(["+a", "-a"]));
    await maps().mergePatch({ namespace, name: "a" }, { metadata: { labels: { test: "again" } } }, {});
    await eventually(() => expect(said).toEqual(["+a", "-a", "+a"]));
  });

  test("one object can be watched by its name", async () => {
    const { reflector, said } = watch({ labelSelector: undefined, fieldSelector: "metadata.name=b" });
    await reflector.synced;
    await maps().create(own("a"));
    await maps().create(own("b"));
    await eventually(() => expect(said).toEqual(["+b"]));
  });

  test("a watch over all namespaces sees each", async () => {
    const other = await server().namespace();
    const label = `shared-${namespace}`;
    const { reflector } = watch({ namespace: undefined, labelSelector: `test=${label}` });
    await reflector.synced;
    for (const place of [namespace, other]) await maps().create(configMap(place, "a", {}, { test: label }));
    await eventually(() =>
      expect([...reflector.store.keys()].toSorted()).toEqual([`${namespace}/a`, `${other}/a`].toSorted()),
    );
  });

  test("an object deleted and made anew at once is told as gone and new", async () => {
    await maps().create(own("a"));
    const { reflector, said } = watch();
    await reflector.synced;
    await maps().delete({ namespace, name: "a" });
    const { metadata } = await maps().create(own("a"));
    await eventually(() => expect(said).toEqual(["+a", "-a", "+a"]));
    expect(reflector.store.get(`${namespace}/a`)?.metadata.uid).toBe(metadata.uid);
  });

  test("who may not list is told so once, is asked again, and begins when allowed", async () => {
    const refusals: (string | undefined)[] = [];
    let credentials = server().stranger;
    const auth = { server: credentials.server, credentials: () => credentials.credentials(), refresh: () => undefined };
    const onRefusal = (refusal: string | undefined) => refusals.push(refusal);
    const { reflector } = reflecting(auth, { type: SECRETS, namespace, onRefusal, refusedDelayMs: 50 });
    await eventually(() => expect(refusals).toEqual(["Forbidden"]));
    expect(reflector).toMatchObject({ hasSynced: false, refusal: "Forbidden" });
    credentials = server().auth;
    await reflector.synced;
    expect(refusals).toEqual(["Forbidden", undefined]);
  });

  test("a kind that the server does not have is a refusal, not the end", async () => {
    const refusals: (string | undefined)[] = [];
    const type = { ...CONFIG_MAPS, group: "none.example.com" };
    const { reflector } = reflecting(server().auth, { type, onRefusal: (refusal) => refusals.push(refusal) });
    await eventually(() => expect(refusals).toEqual(["NotFound"]));
    expect(reflector.hasSynced).toBe(false);
  });

  test("it ends at once when told to, with the watch open", async () => {
    const { reflector, stop, ended } = watch();
    await reflector.synced;
    stop.abort();
    await ended;
    expect(reflector.hasSynced).toBe(true);
  });
}
