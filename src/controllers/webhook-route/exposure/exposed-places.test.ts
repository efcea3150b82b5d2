import { expect, test } from "vitest";
import type { KubeObject } from "../../../kube/objects.ts";
import { changedPaths } from "./exposed-places.ts";

const ingress = (...paths: string[]): KubeObject => {
  const spec = { rules: [{ host: "a.example.com", http: { paths: paths.map((path) => ({ path })) } }] };
  const object = { metadata: { name: "i" }, spec };
  return object;
};

test("paths that came or went are told, those that stay are not", () => {
  expect([...changedPaths(ingress("/a", "/b"), ingress("/b", "/c"))]).toEqual(["/a", "/c"]);
  expect([...changedPaths(undefined, ingress("/a"))]).toEqual(["/a"]);
  expect([...changedPaths(ingress("/a"), undefined)]).toEqual(["/a"]);
  expect(changedPaths(ingress("/a"), ingress("/a")).size).toBe(0);
});

test("what somebody left of an object is read as far as it goes", () => {
  const odd = { metadata: { name: "i" }, spec: { rules: [{ http: null }, 7, { matches: [{}] }], hostnames: ["x"] } };
  expect([...changedPaths(undefined, odd as KubeObject)]).toEqual([""]);
});
