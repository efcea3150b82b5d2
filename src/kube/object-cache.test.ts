import { expect, test } from "vitest";
import { ObjectCache } from "./object-cache.ts";
import { keyOf, slim, type Live } from "./objects.ts";

const object = (name: string, resourceVersion: string, uid = `uid-${name}`): Live => ({
  metadata: { namespace: "x", name, uid, resourceVersion },
});
const asMap = (...objects: Live[]) => new Map(objects.map((one) => [keyOf(one), one]));

function cache() {
  const errors: unknown[] = [];
  const said: string[] = [];
  const store = new ObjectCache((error) => errors.push(error));
  store.onChange(({ key, next, previous }) => {
    said.push(`${key} ${previous?.metadata.uid ?? "-"} ${next?.metadata.uid ?? "-"}`);
  });
  return { store, said, errors };
}

test("a list that replaces all tells what is new, what changed and what is gone, and nothing of the rest", () => {
  const { store, said } = cache();
  store.replace(asMap(object("gone", "1"), object("same", "2"), object("changed", "3")));
  said.length = 0;
  store.replace(asMap(object("same", "2"), object("changed", "4"), object("new", "5")));
  expect(said).toEqual(["x/gone uid-gone -", "x/changed uid-changed uid-changed", "x/new - uid-new"]);
});

test("an object made anew under its name is told as gone, then new", () => {
  const { store, said } = cache();
  store.put(object("a", "1", "first"));
  store.put(object("a", "9", "second"));
  expect(said).toEqual(["x/a - first", "x/a first -", "x/a - second"]);
});

test("the end of an earlier bearer of the name changes nothing", () => {
  const { store, said } = cache();
  store.put(object("a", "9", "second"));
  store.delete(object("a", "8", "first"));
  expect(store.objects.size).toBe(1);
  store.delete(object("a", "10", "second"));
  expect(said).toEqual(["x/a - second", "x/a second -"]);
});

test("who comes later hears of what is there", () => {
  const { store } = cache();
  store.put(object("a", "1"));
  const heard: string[] = [];
  store.onChange(({ key }) => heard.push(key));
  expect(heard).toEqual(["x/a"]);
});

test("slim drops managedFields and kubectl's copy and keeps the rest", () => {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "yes" };
  const metadata = { name: "a", uid: "u", resourceVersion: "1", managedFields: [{}] };
  expect(slim({ metadata: { ...metadata, annotations }, data: { k: "1" } })).toEqual({
    metadata: { name: "a", uid: "u", resourceVersion: "1", annotations: { kept: "yes" } },
    data: { k: "1" },
  });
  expect(slim({ metadata })).toEqual({ metadata: { name: "a", uid: "u", resourceVersion: "1" } });
});
