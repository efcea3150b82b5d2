import { beforeEach, expect, test } from "vitest";
import type { KubeClient } from "../client.ts";
import { CONFIG_MAPS } from "../core-types.ts";
import { clientOf, configMap, eventually, failsWith, reflecting, type FaultyServer } from "./fixtures.ts";

/** What a client survives: outages, dead connections, forgotten versions. */
export function faultsConformance(server: () => FaultyServer): void {
  let client: KubeClient;
  let namespace: string;
  beforeEach(async () => {
    client = clientOf(server().auth);
    namespace = await server().namespace();
  });
  const maps = () => client.resource(CONFIG_MAPS);
  const own = (name: string, data = {}) => configMap(namespace, name, data, { test: "yes" });
  const watch = (options: object = {}) =>
    reflecting(server().auth, { type: CONFIG_MAPS, namespace, labelSelector: "test", ...options });

  test("a watch whose connection breaks goes on from where it was", async () => {
    await maps().create(own("a"));
    const { reflector, said } = watch();
    await reflector.synced;
    await server().cut();
    await eventually(() => maps().create(own("b")));
    await eventually(() => expect(said).toEqual(["+a", "+b"]));
  });

  test("a half-open watch is noticed by its silence, and what happened meanwhile is not lost", async () => {
    await maps().create(own("a"));
    const { reflector, said } = watch({ idleMs: 1_000 });
    await reflector.synced;
    const before = reflector.lastContact;
    server().freeze();
    const frozen = failsWith(maps().create(own("during"), { timeoutMs: 1_500 }), "Timeout");
    await frozen;
    server().thaw();
    await eventually(() => maps().create(own("after")));
    await eventually(() => expect(said).toContain("+after"));
    expect(reflector.lastContact).toBeGreaterThan(before);
    const { items } = await maps().list(namespace, { labelSelector: "test" });
    await eventually(() => expect(reflector.store.size).toBe(items.length));
  });

  test("a version that the server forgot leads to a new list, which finds what was deleted and what was replaced", async () => {
    const errors: unknown[] = [];
    for (const name of ["gone", "kept", "replaced"]) await maps().create(own(name));
    const first = watch({ onError: (error: unknown) => errors.push(error) });
    await first.reflector.synced;
    first.stop.abort();
    await first.ended;
    await maps().delete({ namespace, name: "gone" });
    await maps().delete({ namespace, name: "replaced" });
    await maps().create(own("replaced"));
    await server().compact();
    first.said.length = 0;
    const again = new AbortController();
    const ended = first.reflector.run(again.signal);
    await eventually(() => expect(first.said.toSorted()).toEqual(["+replaced", "-gone", "-replaced"]));
    again.abort();
    await ended;
    expect(errors).toEqual([]);
  });
}
