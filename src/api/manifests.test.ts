import { describe, expect, test } from "vitest";
import { formatManifestProblem, parseManifests } from "./manifests.ts";

const ROUTE = `
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: orders }
spec:
  exposure: { host: hooks.example.com, path: /orders }
  verification: { provider: github }
  secretRefs: [{ name: github, key: secret }]
  destinations: [{ name: a, serviceRef: { name: a, port: 80 } }]
`;

function parse(text: string, options = {}) {
  return parseManifests([{ file: "a.yaml", text }], options);
}

function lines(text: string, options = {}) {
  return parse(text, options).problems.map(formatManifestProblem);
}

describe("parseManifests", () => {
  test("reads routes and Secrets out of several documents and passes other kinds over", () => {
    const text = `${ROUTE}---
apiVersion: apps/v1
kind: Deployment
metadata: { name: other }
---
# nothing
---
apiVersion: v1
kind: Secret
metadata: { name: github, namespace: shop, labels: { davit.dev/use: "true" } }
data: { secret: c2VjcmV0, other: YQ== }
stringData: { other: "b\\n" }
`;
    const manifests = parse(text);
    expect(manifests.problems).toEqual([]);
    expect(manifests.routes).toMatchObject([{ file: "a.yaml", namespace: "default", name: "orders" }]);
    const secret = manifests.secrets.get("shop")?.get("github");
    expect(secret?.labels).toEqual({ "davit.dev/use": "true" });
    expect(secret?.data.get("secret")?.toString()).toBe("secret");
    expect(secret?.data.get("other")?.toString()).toBe("b\n");
  });

  test("reads the items of a List, and JSON", () => {
    const route = parse(ROUTE).routes[0]?.route;
    const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: [route] });
    expect(parse(text).routes).toHaveLength(1);
  });

  test("names file, object and field of a problem and the remedy", () => {
    expect(lines(ROUTE.replace("port: 80", "port: 80, prot: 1"))).toEqual([
      'a.yaml: WebhookRoute default/orders: spec.destinations[0].serviceRef.prot: unknown field "spec.destinations[0].serviceRef.prot" (did you mean port?)',
    ]);
  });

  test("shows where a file is no YAML", () => {
    expect(lines("a: [1,\nb: }")[0]).toMatch(/^a\.yaml: line \d+, column \d+: /);
  });

  test("reports an object that is there twice, and a kind of ours that does not exist", () => {
    expect(lines(`${ROUTE}---${ROUTE}`)).toEqual(["a.yaml: WebhookRoute default/orders: is also in a.yaml: keep one"]);
    expect(lines(ROUTE.replace("kind: WebhookRoute", "kind: WebhookRout"))[0]).toContain("expected davit.dev/v1alpha1");
  });

  test("checks changes against the previous objects", () => {
    const changed = ROUTE.replace("spec:", "spec:\n  instance: blue");
    expect(lines(changed)).toEqual([]);
    expect(lines(changed, { previous: [{ file: "old.yaml", text: ROUTE }] })[0]).toContain("instance is immutable");
  });

  test.each([
    ["data: { secret: 'not base64!' }", "data.secret"],
    ["data: { secret: abc }", "data.secret"],
    ["data: { secret: 12 }", "data.secret"],
    ["stringData: [a]", "stringData"],
  ])("refuses a Secret with %s and does not show the value", (fields, path) => {
    const [line = ""] = lines(`apiVersion: v1\nkind: Secret\nmetadata: { name: github }\n${fields}\n`);
    expect(line).toContain(`a.yaml: Secret default/github: ${path}: `);
    expect(line).not.toContain("not base64!");
  });

  test("demands a Secret's name", () => {
    expect(lines("apiVersion: v1\nkind: Secret\ndata: {}")[0]).toContain("metadata.name: Required value");
  });
});
