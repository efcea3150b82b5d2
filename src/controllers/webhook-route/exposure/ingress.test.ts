import { describe, expect, it } from "vitest";
import type { DesiredObject } from "../children/desired-object.ts";
import { hostObjects, type IngressRelease, type ServedRoute } from "./ingress.ts";
import { golden, hostOf } from "../testing-plan.ts";

const GOLDEN = "../../../../test/golden/exposure";
const RELEASE: IngressRelease = {
  release: "davit",
  instance: "default",
  namespace: "davit-system",
  service: { name: "davit-gateway", port: 80 },
};
const GATEWAY = { via: "HTTPRoute", parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }] };

function routeAt(path: string, namespace = "shop", host = "hooks.example.com"): ServedRoute {
  return { namespace, name: path.slice(1).replaceAll("/", "-"), host, path };
}

const ROUTES = [routeAt("/shop/b"), routeAt("/shop/a"), routeAt("/pay/a", "pay")];
const many = (count: number) => Array.from({ length: count }, (_, n) => routeAt(`/shop/${n}`));

interface IngressSpec {
  readonly rules: readonly {
    readonly host: string;
    readonly http: { readonly paths: readonly { readonly path: string }[] };
  }[];
}
interface RouteSpec {
  readonly rules: readonly { readonly matches: readonly { readonly path: { readonly value: string } }[] }[];
}

function ingressPaths({ ["spec"]: spec }: DesiredObject): string[] {
  return (spec as IngressSpec).rules.flatMap(({ http }) => http.paths.map(({ path }) => path));
}

function rulesOf({ ["spec"]: spec }: DesiredObject): string[][] {
  return (spec as RouteSpec).rules.map(({ matches }) => matches.map(({ path }) => path.value));
}

const namesOf = (objects: readonly DesiredObject[]) => objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);

describe("what exposes a host", () => {
  it.each([
    [
      "ingress-prefix",
      { className: "nginx", tlsSecretName: "tls", annotations: { "cert-manager.io/cluster-issuer": "le" } },
    ],
    ["ingress-exact", { paths: "Exact", pathPrefix: "/shop", allowHTTP: true }],
    ["httproute-prefix", { ...GATEWAY, pathPrefix: "/in" }],
    ["httproute-exact", { ...GATEWAY, paths: "Exact" }],
  ])("is that of %s.yaml", async (file, host) => {
    await expect(golden(hostObjects(hostOf(host), ROUTES, RELEASE))).toMatchFileSnapshot(`${GOLDEN}/${file}.yaml`);
  });

  it("is nothing when it is exposed by other means", () => {
    expect(hostObjects(hostOf({ via: "None" }), ROUTES, RELEASE)).toEqual([]);
  });

  it.each([{}, { paths: "Exact" }, GATEWAY, { ...GATEWAY, paths: "Exact" }])(
    "comes out the same, byte by byte, whatever the order of the routes: %j",
    (more) => {
      const host = hostOf(more);
      expect(JSON.stringify(hostObjects(host, ROUTES.toReversed(), RELEASE))).toBe(
        JSON.stringify(hostObjects(host, ROUTES, RELEASE)),
      );
    },
  );

  it("has other names for another prefix of the host, another host and another release", () => {
    const names = [
      [hostOf(), RELEASE],
      [hostOf({ pathPrefix: "/a" }), RELEASE],
      [hostOf({ host: "b.example.com" }), RELEASE],
      [hostOf(), { ...RELEASE, instance: "second" }],
    ] as const;
    const all = names.flatMap(([host, release]) => namesOf(hostObjects(host, [], release)));
    expect(new Set(all).size).toBe(names.length);
  });
});

describe("an Ingress", () => {
  it("is there before the first route with Prefix, and not with Exact", () => {
    expect(hostObjects(hostOf(), [], RELEASE)).toHaveLength(1);
    expect(hostObjects(hostOf({ paths: "Exact" }), [], RELEASE)).toEqual([]);
  });

  it("does not change with Prefix when a route comes", () => {
    expect(hostObjects(hostOf(), ROUTES, RELEASE)).toEqual(hostObjects(hostOf(), [], RELEASE));
  });

  it("has the hosts of a wildcard's routes with Exact", () => {
    const host = hostOf({ host: "*.example.com", paths: "Exact" });
    const routes = [routeAt("/a", "shop", "a.example.com"), routeAt("/b", "shop", "b.example.com")];
    const hosts = hostObjects(host, routes, RELEASE).flatMap(({ ["spec"]: spec }) =>
      (spec as IngressSpec).rules.map((rule) => rule.host),
    );
    expect(hosts).toEqual(["a.example.com", "b.example.com"]);
  });

  it("is split before it is too large, the last part first, and no path is lost", () => {
    const objects = hostObjects(hostOf({ paths: "Exact" }), many(1_500), RELEASE);
    expect(namesOf(objects).map((name) => name.slice(-2))).toEqual(["-1", expect.stringMatching(/^[0-9a-f]{2}$/)]);
    expect(objects.flatMap(ingressPaths).toSorted()).toEqual(
      many(1_500)
        .map(({ path }) => path)
        .toSorted(),
    );
    for (const object of objects) expect(ingressPaths(object).length).toBeLessThanOrEqual(1_000);
  });
});

describe("HTTPRoutes", () => {
  const EXACT = hostOf({ ...GATEWAY, paths: "Exact" });

  it("need no grant in the release's own namespace", () => {
    const objects = hostObjects(EXACT, [routeAt("/a", "davit-system")], RELEASE);
    expect(objects.map(({ kind }) => kind)).toEqual(["HTTPRoute"]);
  });

  it("keep to 8 matches a rule and 16 rules, and no path is lost", () => {
    const objects = hostObjects(EXACT, many(400), RELEASE).filter(({ kind }) => kind === "HTTPRoute");
    expect(objects.length).toBeGreaterThan(3);
    for (const object of objects) {
      expect(rulesOf(object).length).toBeLessThanOrEqual(16);
      for (const rule of rulesOf(object)) expect(rule.length).toBeLessThanOrEqual(8);
    }
    expect(objects.flatMap((object) => rulesOf(object).flat()).toSorted()).toEqual(
      many(400)
        .map(({ path }) => path)
        .toSorted(),
    );
    expect(new Set(namesOf(objects)).size).toBe(objects.length);
  });

  it("change in one part when a route comes", () => {
    const before = hostObjects(EXACT, many(400), RELEASE);
    const after = hostObjects(EXACT, [...many(400), routeAt("/shop/new")], RELEASE);
    const known = new Set(before.map((object) => JSON.stringify(object)));
    expect(after.filter((object) => !known.has(JSON.stringify(object)))).toHaveLength(1);
  });

  it("have one rule with Prefix, however many routes there are", () => {
    const objects = hostObjects(hostOf(GATEWAY), many(400), RELEASE).filter(({ kind }) => kind === "HTTPRoute");
    expect(objects.map(rulesOf)).toEqual([[["/"]]]);
  });
});
