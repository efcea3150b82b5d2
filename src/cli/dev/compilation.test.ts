import { describe, expect, it } from "vitest";
import { parseManifests } from "../../api/manifests.ts";
import { type Compilation, compileAll, serviceUrl } from "./compilation.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 1);
const NO_RINGS = {
  releaseKey: Buffer.alloc(32, 1),
  entries: new Map(),
  destinations: new Map(),
  released: [],
  known: new Map(),
};

interface RouteChanges {
  readonly path?: string;
  readonly instance?: string;
  readonly namespace?: string;
  /** Value of the annotation. */
  readonly revoke?: string;
}

function route(name: string, options: RouteChanges = {}): string {
  const { path = `/${name}`, instance = "default", namespace = "shop", revoke } = options;
  const annotations = revoke === undefined ? "" : `, annotations: { davit.dev/revoke-previous-at: "${revoke}" }`;
  return `
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: ${name}, namespace: ${namespace}${annotations} }
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
    rings: { ...NO_RINGS, ...before },
    instance: "default",
    services: new Map(),
    claimHoldMs: 24 * HOUR,
    now,
  });
}

/** Who is served where. */
function served({ entries }: Compilation): string[] {
  return [...entries].map(([key, { path }]) => `${key} ${path}`);
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

  it("leaves out routes of another instance, and says so", () => {
    const { entries, warnings } = compileTexts([route("a", { instance: "blue" }), secret("one")]);
    expect(entries.size).toBe(0);
    expect(warnings).toEqual(["shop/a: is of instance blue, which this is not; left out"]);
  });

  it("warns of a --service that nothing refers to", () => {
    const manifests = parseManifests([{ file: "m.yaml", text: [route("a"), secret("one")].join("---") }]);
    const services = new Map([
      ["shop/orders", "http://127.0.0.1:1"],
      ["shop/ordres", "http://127.0.0.1:2"],
    ]);
    const input = { manifests, rings: NO_RINGS, instance: "default", services, claimHoldMs: 0, now: NOW };
    const { warnings } = compileAll(input);
    expect(warnings).toEqual(["--service shop/ordres: nothing refers to it"]);
  });

  it("names routes that are gone", () => {
    const first = compileTexts([route("a"), route("b"), secret("one")]);
    expect(compileTexts([route("b"), secret("one")], first).removed).toEqual(["shop/a"]);
  });
});

describe("compileAll, when a Secret's previous keys are revoked", () => {
  const states = (compilation: Compilation) => only(compilation).keys.map(({ state }) => state);
  const AT = "2026-01-01T00:00:00Z";

  it("ends them at once, and carries a command out once", () => {
    const first = compileTexts([route("a"), secret("one")]);
    const rotated = compileTexts([route("a"), secret("two")], first);
    const revoked = compileTexts([route("a", { revoke: AT }), secret("two")], rotated);
    expect(states(revoked)).toEqual(["current"]);
    expect(revoked.changed).toEqual(["shop/a"]);
    const again = compileTexts([route("a", { revoke: AT }), secret("three")], revoked);
    const stays = compileTexts([route("a", { revoke: AT }), secret("three")], again);
    expect(states(stays)).toEqual(["current", "previous"]);
    const anew = compileTexts([route("a", { revoke: "2026-01-02T00:00:00Z" }), secret("three")], again);
    expect(states(anew)).toEqual(["current"]);
  });

  it("takes no notice of a command that is no time", () => {
    const first = compileTexts([route("a"), secret("one")]);
    const rotated = compileTexts([route("a"), secret("two")], first);
    const asked = compileTexts([route("a", { revoke: "now" }), secret("two")], rotated);
    expect(states(asked)).toEqual(["current", "previous"]);
  });
});

describe("compileAll, when several routes want one host and path", () => {
  const x = (name: string, more: RouteChanges = {}) => route(name, { path: "/x", ...more });

  it("serves the one that has it, and tells the other, which refuses nothing", () => {
    const first = compileTexts([x("b"), secret("one")]);
    const second = compileTexts([x("a"), x("b"), secret("one")], first);
    expect(served(second)).toEqual(["shop/b /x"]);
    expect(second.errors).toEqual([]);
    expect(second.conflicts).toEqual([
      {
        namespace: "shop",
        name: "a",
        message: "hooks.example.com/x belongs to shop/b: choose another path, or delete that route",
      },
    ]);
    expect(second.warnings).toEqual([
      expect.stringMatching(/^shop\/a is not served: HostPathConflict: hooks\.example/),
    ]);
  });

  it("serves the first by name of those that appear together, and of those that wait the one that came first", () => {
    const first = compileTexts([x("m"), x("n"), secret("one")]);
    expect(served(first)).toEqual(["shop/m /x"]);
    const second = compileTexts([x("a"), x("m"), x("n"), secret("one")], first, NOW + HOUR);
    const third = compileTexts([x("a"), x("n"), secret("one")], second, NOW + 2 * HOUR);
    expect(served(third)).toEqual(["shop/n /x"]);
    expect(third.removed).toEqual(["shop/m"]);
  });

  it("lets a route that is edited onto another's go on where it was, also beside one of another namespace that wants that", () => {
    const first = compileTexts([x("owner"), route("mover"), secret("one")]);
    const moved = [x("owner"), x("mover"), secret("one")];
    const second = compileTexts(moved, first);
    expect(served(second)).toEqual(["shop/owner /x", "shop/mover /mover"]);
    expect(second.changed).toEqual([]);
    expect(second.released).toEqual([]);
    expect(second.warnings).toEqual([expect.stringContaining("shop/mover goes on at the place it had")]);
    const stranger = route("stranger", { path: "/mover", namespace: "other" });
    const third = compileTexts([...moved, stranger], second, NOW + 100 * HOUR);
    expect(served(third)).toEqual(["shop/owner /x", "shop/mover /mover"]);
    const gone = compileTexts([x("owner"), secret("one")], third, NOW + 100 * HOUR);
    expect(gone.released).toMatchObject([{ path: "/mover", releasedAt: NOW + 100 * HOUR }]);
    const neighbour = route("neighbour", { path: "/mover" });
    const fourth = compileTexts([...moved, neighbour], third);
    expect(served(fourth)).toEqual(["shop/owner /x", "shop/neighbour /mover"]);
    expect(fourth.removed).toEqual(["shop/mover"]);
  });

  it("holds the place of a route that went for its namespace, for so long as it is told", () => {
    const stranger = x("stranger", { namespace: "other" });
    const first = compileTexts([x("a"), secret("one")]);
    const gone = compileTexts([stranger, secret("one")], first, NOW + HOUR);
    expect(served(gone)).toEqual([]);
    expect(gone.nextChangeAt).toBe(NOW + 25 * HOUR);
    expect(gone.warnings).toContainEqual(
      "other/stranger is not served: HostPathConflict: hooks.example.com/x was that of shop/a and stays with its namespace until 2026-01-02T01:00:00.000Z: wait, or choose another path",
    );
    const back = compileTexts([stranger, x("b"), secret("one")], gone, NOW + 2 * HOUR);
    expect(served(back)).toEqual(["shop/b /x"]);
    expect(back.released).toEqual([]);
    const later = compileTexts([stranger], gone, NOW + 25 * HOUR);
    expect(served(later)).toEqual(["other/stranger /x"]);
  });

  it("lets two routes of a namespace swap places, and two of different ones stay where they are", () => {
    const first = compileTexts([route("a"), route("b"), secret("one")]);
    const swapped = compileTexts([route("a", { path: "/b" }), route("b", { path: "/a" }), secret("one")], first);
    expect(served(swapped)).toEqual(["shop/a /b", "shop/b /a"]);
    const other = { namespace: "other" };
    const apart = compileTexts([route("a"), route("b", other), secret("one")]);
    const refused = compileTexts([route("a", { path: "/b" }), route("b", { ...other, path: "/a" })], apart);
    expect(served(refused)).toEqual(["shop/a /a", "other/b /b"]);
  });

  it("holds the place that a route has left by moving away", () => {
    const first = compileTexts([x("a"), secret("one")]);
    const moved = compileTexts([route("a"), secret("one")], first);
    expect(moved.released).toEqual([
      { namespace: "shop", name: "a", host: "hooks.example.com", path: "/x", releasedAt: NOW },
    ]);
    expect(served(compileTexts([route("a"), x("b", { namespace: "other" }), secret("one")], moved))).toEqual([
      "shop/a /a",
    ]);
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

describe("compileAll with WebhookDestinations", () => {
  const destination = (name: string, spec = "{ url: https://acme.example.com/ }") => `
apiVersion: davit.dev/v1alpha1
kind: WebhookDestination
metadata: { name: ${name}, namespace: shop, labels: { tier: gold } }
spec: ${spec}
`;
  const to = (target: string) => route("a").replace(/ {2}destinations: .*/, `  ${target}`);
  const NAMED = "destinations: [{ name: eu, destinationRef: { name: acme } }]";

  it("gives a route the copies of the destination it names, and of those its selector matches", () => {
    const named = compileTexts([
      to(NAMED),
      secret("one"),
      destination("acme", "{ url: https://a.example/, id: Acme/1 }"),
    ]);
    expect(named.errors).toEqual([]);
    expect(only(named).sharedCopies).toEqual([{ id: "~Acme%2F1", name: "acme", limit: 1, eventTypes: [] }]);
    expect(named.changedDestinations).toEqual(["shop/acme"]);
    const selector = to("destinationSelector: { matchLabels: { tier: gold } }");
    const both = compileTexts([selector, secret("one"), destination("a"), destination("b")]);
    expect(only(both).sharedCopies?.map(({ id }) => id)).toEqual(["~a", "~b"]);
  });

  it("warns of a destination that no manifest has, and takes no events that would never reach it", () => {
    const { warnings, errors, entries } = compileTexts([to(NAMED), secret("one")]);
    expect(errors).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("shop/a: DestinationNotFound: no WebhookDestination acme")]);
    expect([...entries.values()].map(({ suspend }) => suspend)).toEqual(["Ingest"]);
  });

  it("changes nothing when the manifests say the same, and tells what went", () => {
    const texts = [to(NAMED), secret("one"), destination("acme")];
    const first = compileTexts(texts);
    const second = compileTexts(texts, first, NOW + HOUR);
    expect([second.changed, second.changedDestinations, second.removedDestinations]).toEqual([[], [], []]);
    const edited = compileTexts([to(NAMED), secret("one"), destination("acme", "{ url: https://b.example/ }")], second);
    expect([edited.changed, edited.changedDestinations]).toEqual([[], ["shop/acme"]]);
    const gone = compileTexts([to(NAMED), secret("one")], edited);
    expect(gone.removedDestinations).toEqual(["shop/acme"]);
    expect(only(gone), "its copies wait for it").toMatchObject({ suspend: "None", sharedCopies: [{ id: "~acme" }] });
  });

  it("leaves out destinations of another instance, and says so", () => {
    const other = destination("acme", "{ url: https://a.example/, instance: blue }");
    const { warnings, destinations } = compileTexts([route("b"), secret("one"), other]);
    expect(warnings).toEqual(["shop/acme: is of instance blue, which this is not; left out"]);
    expect(destinations.size).toBe(0);
  });
});
