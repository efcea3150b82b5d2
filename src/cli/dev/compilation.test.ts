import { describe, expect, it } from "vitest";
import { parseManifests } from "../../api/manifests.ts";
import { type Compilation, compileAll, serviceUrl } from "./compilation.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 1);

function route(name: string, options: { path?: string; instance?: string } = {}): string {
  const { path = `/${name}`, instance = "default" } = options;
  return `
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: ${name}, namespace: shop }
spec:
  instance: ${instance}
  exposure: { host: hooks.example.com, path: ${path} }
  verification: { provider: github }
  secretRefs: [{ name: github, key: secret }]
  destinations: [{ name: orders, serviceRef: { name: orders, port: 8000, path: /in } }]
`;
}

function secret(value: string): string {
  return `
apiVersion: v1
kind: Secret
metadata: { name: github, namespace: shop }
stringData: { secret: ${value} }
`;
}

function compileTexts(texts: readonly string[], before?: Compilation, now = NOW): Compilation {
  return compileAll({
    manifests: parseManifests([{ file: "m.yaml", text: texts.join("---") }]),
    rings: { releaseKey: Buffer.alloc(32, 1), entries: before?.entries ?? new Map() },
    instance: "default",
    services: new Map(),
    now,
  });
}

function only(compilation: Compilation) {
  const [entry] = compilation.entries.values();
  if (entry === undefined) throw new Error(`no entry: ${compilation.errors.join("; ")}`);
  return entry;
}

describe("compileAll", () => {
  it("changes nothing when the manifests say the same", () => {
    const first = compileTexts([route("a"), secret("one")]);
    const second = compileTexts([route("a"), secret("one")], first, NOW + HOUR);
    expect(first.changed).toEqual(["shop/a"]);
    expect(second.changed).toEqual([]);
    expect(only(second)).toBe(only(first));
  });

  it("gives a changed route a higher sequence number, even when the clock stands still", () => {
    const first = compileTexts([route("a"), secret("one")]);
    const second = compileTexts([route("a", { path: "/b" }), secret("one")], first);
    expect(only(second).seq).toBeGreaterThan(only(first).seq);
  });

  it("keeps the previous key for the overlap when a Secret changes, and drops it then", () => {
    const first = compileTexts([route("a"), secret("one")]);
    const second = compileTexts([route("a"), secret("two")], first, NOW + HOUR);
    expect(only(second).keys.map(({ state }) => state)).toEqual(["current", "previous"]);
    expect(second.nextChangeAt).toBe(NOW + 25 * HOUR);
    const third = compileTexts([route("a"), secret("two")], second, NOW + 25 * HOUR);
    expect(only(third).keys.map(({ state }) => state)).toEqual(["current"]);
  });

  it("warns of a missing Secret and serves the route all the same", () => {
    const { errors, warnings, entries } = compileTexts([route("a")]);
    expect(errors).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("Secret github does not exist")]);
    expect([...entries.keys()]).toEqual(["shop/a"]);
  });

  it("says what it leaves out of a worker Deployment, and serves the route all the same", () => {
    const worker = "  worker: { dedicated: { replicas: 2, concurrency: 7, env: [{ name: A, value: b }] } }\n";
    const { warnings, entries } = compileTexts([route("a") + worker, secret("one")]);
    expect(warnings).toEqual([
      "shop/a: worker.dedicated.replicas, worker.dedicated.env: ignored here; davit dev runs all workers in this process",
    ]);
    expect(entries.get("shop/a")?.worker).toEqual({ dedicated: true, concurrency: 7 });
  });

  it("refuses two routes with one host and path, in favour of the one that is served", () => {
    const first = compileTexts([route("b", { path: "/x" }), secret("one")]);
    const second = compileTexts([route("a", { path: "/x" }), route("b", { path: "/x" }), secret("one")], first);
    expect(second.errors).toEqual([
      expect.stringContaining("WebhookRoute shop/a: spec.exposure: hooks.example.com/x is also wanted by shop/b"),
    ]);
  });

  it("leaves out routes of another instance, and says so", () => {
    const { entries, warnings } = compileTexts([route("a", { instance: "blue" }), secret("one")]);
    expect(entries.size).toBe(0);
    expect(warnings).toEqual(["shop/a: is of instance blue, which this is not; left out"]);
  });

  it("warns of a --service that no route refers to", () => {
    const manifests = parseManifests([{ file: "m.yaml", text: [route("a"), secret("one")].join("---") }]);
    const services = new Map([
      ["shop/orders", "http://127.0.0.1:1"],
      ["shop/ordres", "http://127.0.0.1:2"],
    ]);
    const rings = { releaseKey: Buffer.alloc(32, 1), entries: new Map() };
    const { warnings } = compileAll({ manifests, rings, instance: "default", services, now: NOW });
    expect(warnings).toEqual(["--service shop/ordres: no route refers to it"]);
  });

  it("names routes that are gone", () => {
    const first = compileTexts([route("a"), route("b"), secret("one")]);
    expect(compileTexts([route("b"), secret("one")], first).removed).toEqual(["shop/a"]);
  });
});

describe("serviceUrl", () => {
  const service = { namespace: "shop", name: "orders", port: 8000, scheme: "http", path: "/in" } as const;

  it("is the same port on loopback", () => {
    expect(serviceUrl(service, new Map())).toBe("http://127.0.0.1:8000/in");
  });

  it("is what --service says, with the route's path", () => {
    const overrides = new Map([["shop/orders", "http://localhost:3000/"]]);
    expect(serviceUrl(service, overrides)).toBe("http://localhost:3000/in");
  });
});
