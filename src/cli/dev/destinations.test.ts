import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { resolveDestinationSpec } from "../../api/destination-defaults.ts";
import type { WebhookDestinationSpec } from "../../api/generated/webhook-destination.ts";
import type { DestinationManifest } from "../../api/manifests.ts";
import { entryOf, routeOf, secretsOf } from "../../routes/testing.ts";
import { DevConsoleDirectory } from "./console-directory.ts";
import { compileDestinations, type CompiledDestinations, type DevDestination, knownIn } from "./destinations.ts";

const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const LABEL = { "davit.dev/use": "true" };

function manifest(name: string, spec: Partial<WebhookDestinationSpec> = {}, namespace = "shop"): DestinationManifest {
  const written = { url: "https://acme.example.com/", ...spec } as WebhookDestinationSpec;
  return {
    file: "m.yaml",
    kind: "WebhookDestination",
    namespace,
    name,
    destination: {
      apiVersion: "davit.dev/v1alpha1",
      kind: "WebhookDestination",
      metadata: { name, namespace, labels: { tier: "gold" } },
      spec: written,
    },
    spec: resolveDestinationSpec(written, name),
  };
}

function compileThem(
  manifests: readonly DestinationManifest[],
  options: { readonly before?: CompiledDestinations; readonly now?: number; readonly secret?: string } = {},
): CompiledDestinations {
  const { before, now = NOW, secret = "whsec_AAAA" } = options;
  return compileDestinations({
    manifests,
    secrets: new Map([["shop", secretsOf({ acme: { key: secret } }, LABEL)]]),
    before: before?.destinations ?? new Map(),
    releaseKey: Buffer.alloc(32, 1),
    serviceUrl: ({ name, port }) => `http://127.0.0.1:${port}/${name}`,
    now,
  });
}

const SIGNED = { signing: { scheme: "StandardWebhooks", secretRef: { name: "acme", key: "key" } } } as const;

describe("compileDestinations", () => {
  it("keeps the stamp of a destination that says the same, and gives a changed one a higher one", () => {
    const first = compileThem([manifest("a"), manifest("b")]);
    const second = compileThem([manifest("a"), manifest("b", { timeout: "5s" })], { before: first });
    const seqOf = ({ destinations }: CompiledDestinations, key: string) => destinations.get(key)?.entry.seq ?? 0;
    expect(seqOf(second, "shop/a")).toBe(seqOf(first, "shop/a"));
    expect(seqOf(second, "shop/b")).toBeGreaterThan(seqOf(first, "shop/b"));
    expect(seqOf(first, "shop/b")).toBeGreaterThan(seqOf(first, "shop/a"));
  });

  it("signs with the previous key too until the overlap is over", () => {
    const first = compileThem([manifest("a", SIGNED)]);
    const changed = { secret: "whsec_BBBB", now: NOW + HOUR };
    const second = compileThem([manifest("a", SIGNED)], { before: first, ...changed });
    const keysOf = ({ destinations }: CompiledDestinations) =>
      destinations.get("shop/a")?.entry.signing?.keys.map(({ state }) => state);
    expect(keysOf(second)).toEqual(["current", "previous"]);
    expect(second.times).toEqual([NOW + 25 * HOUR]);
    const third = compileThem([manifest("a", SIGNED)], { before: second, ...changed, now: NOW + 26 * HOUR });
    expect(keysOf(third)).toEqual(["current"]);
  });

  it("leaves an id with whoever has it, and tells the other", () => {
    const first = compileThem([manifest("zoo", { id: "acme" })]);
    const second = compileThem([manifest("acme"), manifest("zoo", { id: "acme" })], { before: first });
    expect([...second.destinations.keys()]).toEqual(["shop/zoo"]);
    expect(second.warnings).toEqual([
      expect.stringContaining('shop/acme gets no events: IdConflict: the id "acme" belongs to WebhookDestination zoo'),
    ]);
    const alone = compileThem([manifest("acme")], { before: second });
    expect([...alone.destinations.keys()]).toEqual(["shop/acme"]);
  });

  it("gives each namespace its own ids", () => {
    const { destinations } = compileThem([manifest("acme"), manifest("acme", {}, "other")]);
    expect([...destinations.keys()]).toEqual(["shop/acme", "other/acme"]);
    expect(knownIn(destinations, "other")).toEqual([{ name: "acme", id: "~acme", labels: { tier: "gold" } }]);
  });

  it("tells of an id that was changed, and of Secrets that give no value", () => {
    const first = compileThem([manifest("a", { id: "one" })]);
    const headersFrom = [{ name: "Authorization", secretRef: { name: "acme", key: "other" } }];
    const { warnings, destinations } = compileThem([manifest("a", { id: "two", headersFrom })], { before: first });
    expect(warnings).toEqual([
      expect.stringContaining("shop/a: spec.headersFrom[0].secretRef: Secret acme has no key other"),
      "shop/a: nothing is sent to it until these have a value",
      expect.stringContaining('shop/a: its id was "one", and a cluster refuses to change it'),
    ]);
    expect(destinations.get("shop/a")?.entry.id).toBe("~two");
  });
});

function destination(id: string, labels: Readonly<Record<string, string>>): DevDestination {
  const [base] = entryOf().destinations;
  if (base === undefined) throw new Error("the route of the tests has no destination");
  const entry = { ...base, id: `~${id}`, name: id, kind: "shared" as const };
  return { namespace: "shop", id, createdAt: 0, labels, tokenHashes: [], entry };
}

describe("DevConsoleDirectory", () => {
  const access = { access: { tokenSecretRef: { name: "acme", key: "key" } } };
  const { destinations } = compileThem([manifest("a", { id: "Acme/1", ...access }), manifest("b", { suspend: true })], {
    secret: "a-token-of-a-holder-0001",
  });

  it("is not ready before it was told anything", () => {
    const directory = new DevConsoleDirectory();
    expect(directory.isReady).toBe(false);
    directory.update([], []);
    expect(directory.isReady).toBe(true);
  });

  it("finds destinations by their id and by the token they name, in no other namespace and by no other token", () => {
    const directory = new DevConsoleDirectory();
    directory.update([], [...destinations.values()]);
    const acme = { namespace: "shop", name: "a", id: "Acme/1", destination: "~Acme%2F1", suspended: false };
    expect(directory.destination("shop", "Acme/1")).toEqual(acme);
    expect(directory.byToken("a-token-of-a-holder-0001")).toEqual(acme);
    expect(directory.byToken("a-tokem")).toBeUndefined();
    expect(directory.byToken(hash("sha256", "a-token-of-a-holder-0001"))).toBeUndefined();
    expect(directory.destination("other", "Acme/1")).toBeUndefined();
    expect(directory.destinations("shop").map(({ name, suspended }) => [name, suspended])).toEqual([
      ["a", false],
      ["b", true],
    ]);
    directory.update([], []);
    expect(directory.byToken("a-token-of-a-holder-0001")).toBeUndefined();
  });

  it("lets a token that two destinations share open neither", () => {
    const both = compileThem([manifest("a", access), manifest("b", access)], { secret: "a-token-of-a-holder-0001" });
    const directory = new DevConsoleDirectory();
    directory.update([], [...both.destinations.values()]);
    expect(directory.byToken("a-token-of-a-holder-0001")).toBeUndefined();
  });

  it("says that a route whose events choose reaches those that its selector selects, and none that is not there", () => {
    const spec = { destinationSelector: { matchLabels: { tier: "gold" }, idFrom: "json:/customer" } };
    const { destinations: _, ...rest } = routeOf().spec;
    const route = { ...routeOf(), spec: { ...rest, ...spec } };
    const directory = new DevConsoleDirectory();
    directory.update([entryOf({ route })], [destination("a", { tier: "gold" }), destination("b", { tier: "free" })]);
    const [known] = directory.routes("shop");
    expect(["~a", "~b", "~c"].map((id) => known?.mayReach(id))).toEqual([true, false, false]);
  });

  it("knows which destinations a route's events may reach", () => {
    const { sharedCopies: _, ...plain } = entryOf({});
    const copy = { id: "~a", name: "a", limit: 1, eventTypes: [] };
    const directory = new DevConsoleDirectory();
    directory.update(
      [
        { ...plain, name: "plain" },
        { ...plain, name: "named", sharedCopies: [copy] },
        { ...plain, name: "chosen", destinationIdFrom: "json:/to" },
      ],
      [destination("a", {}), destination("b", {})],
    );
    const { namespace } = plain;
    const reach = (name: string) => ["~a", "~b", "~c"].map((id) => directory.route(namespace, name)?.mayReach(id));
    expect([reach("plain"), reach("named"), reach("chosen")]).toEqual([
      [false, false, false],
      [true, false, false],
      [true, true, false],
    ]);
    expect(directory.routes(namespace).map(({ name }) => name)).toEqual(["plain", "named", "chosen"]);
    expect(directory.routes("other")).toEqual([]);
  });
});
