import { describe, expect, test } from "vitest";
import type { ChangeHandler } from "../../../kube/object-cache.ts";
import type { KubeObject, Live } from "../../../kube/objects.ts";
import { KindCache, type Source } from "./kind-cache.ts";

class FakeSource implements Source<KubeObject> {
  readonly store = new Map<string, Live>();
  readonly handlers: ChangeHandler<KubeObject>[] = [];
  hasSynced = false;
  refusal: "Forbidden" | undefined;
  lastContact = 0;
  signal: AbortSignal | undefined;
  onChange(handler: ChangeHandler<KubeObject>): void {
    this.handlers.push(handler);
  }
  run(signal: AbortSignal): Promise<void> {
    this.signal = signal;
    return Promise.resolve();
  }
  relists: (() => void)[] = [];
  relist(): Promise<undefined> {
    return new Promise((resolve) => this.relists.push(() => resolve(undefined)));
  }
  add(namespace: string, name: string): void {
    const next: Live = { metadata: { namespace, name, uid: name, resourceVersion: "1" } };
    this.store.set(`${namespace}/${name}`, next);
    for (const handler of this.handlers) handler({ key: `${namespace}/${name}`, next, previous: undefined });
  }
}

function cacheOf(scope: "Cluster" | "Namespaces") {
  const sources = new Map<string, FakeSource>();
  const open = (namespace: string | undefined) => {
    const source = new FakeSource();
    sources.set(namespace ?? "*", source);
    return source;
  };
  const cache = new KindCache<KubeObject>({ scope, open });
  const changes: string[] = [];
  cache.onChange(({ key, next }) => changes.push(`${next === undefined ? "-" : "+"}${key}`));
  return { cache, sources, changes };
}

describe("a kind's cache", () => {
  test("over all namespaces has one watch, whatever is wanted", () => {
    const { cache, sources, changes } = cacheOf("Cluster");
    expect(cache.isSynced).toBe(false);
    cache.start(new AbortController().signal);
    cache.want("shop");
    sources.get("*")?.add("shop", "a");
    sources.get("*")?.add("other", "b");
    expect([...sources.keys()]).toEqual(["*"]);
    expect(cache.inNamespace("shop").map(({ metadata }) => metadata.name)).toEqual(["a"]);
    expect(changes).toEqual(["+shop/a", "+other/b"]);
  });

  test("of single namespaces watches those that are wanted, also before it starts", () => {
    const { cache, sources } = cacheOf("Namespaces");
    cache.want("shop");
    expect(sources.get("shop")?.signal).toBeUndefined();
    cache.start(new AbortController().signal);
    cache.want("later");
    cache.want("later");
    expect([...sources.values()].map(({ signal }) => signal?.aborted)).toEqual([false, false]);
  });

  test("tells of the end of what it no longer watches, and hears nothing more of it", () => {
    const { cache, sources, changes } = cacheOf("Namespaces");
    cache.start(new AbortController().signal);
    cache.want("shop");
    const source = sources.get("shop");
    source?.add("shop", "a");
    cache.release("shop");
    source?.add("shop", "b");
    expect(changes).toEqual(["+shop/a", "-shop/a"]);
    expect(source?.signal?.aborted).toBe(true);
    expect(cache.get("shop", "a")).toBeUndefined();
  });

  test("is complete by namespace: syncing, synced, or refused", () => {
    const { cache, sources } = cacheOf("Namespaces");
    cache.start(new AbortController().signal);
    for (const name of ["syncing", "synced", "refused"]) cache.want(name);
    Object.assign(sources.get("synced") ?? {}, { hasSynced: true });
    Object.assign(sources.get("refused") ?? {}, { refusal: "Forbidden" });
    const states = ["syncing", "synced", "refused", "unknown"].map((name) => cache.state(name));
    expect(states).toEqual(["Syncing", "Synced", "Refused", "Syncing"]);
    expect(cache.isSynced).toBe(false);
    Object.assign(sources.get("syncing") ?? {}, { hasSynced: true });
    expect(cache.isSynced).toBe(true);
  });
});

test("all that is watched is read anew, some at a time, before that is said to be done", async () => {
  const { cache, sources } = cacheOf("Namespaces");
  const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
  for (const name of names) cache.want(name);
  cache.start(new AbortController().signal);
  const open = () => [...sources.values()].flatMap(({ relists }) => relists);
  let isDone = false;
  const done = cache.relist().then(() => (isDone = true));
  expect(open().length).toBeLessThan(20);
  for (const name of names.toReversed()) {
    expect(isDone).toBe(false);
    sources.get(name)?.relists[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
  expect(open()).toHaveLength(20);
});
