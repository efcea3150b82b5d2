import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { routeKey } from "../api/names.ts";
import { type CompileResult, compile, MAX_ENTRY_BYTES, sameEntry, stamp } from "./compile.ts";
import { keyId } from "./key-ring.ts";
import { signingKeysOf, withSigningKeys } from "./signing-keys.ts";
import { entryOf, inputOf, routeOf, secretsOf } from "./testing.ts";

const USE = { "davit.dev/use": "true" };
const HOUR = 3_600_000;
const KEY = routeKey("a-namespace-uid", "orders");

function accepted(result: CompileResult) {
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result;
}

describe("compile", () => {
  test("makes an entry of plain JSON with every default resolved", () => {
    const { entry, unresolved, warnings, rotation } = accepted(compile(inputOf()));
    expect(JSON.parse(JSON.stringify(entry))).toEqual(entry);
    expect(entry).toEqual({
      schema: 1,
      minReader: 1,
      seq: 0,
      instance: "default",
      namespace: "shop",
      name: "orders",
      route: KEY,
      host: "hooks.example.com",
      path: "/shop/orders",
      methods: ["POST"],
      suspend: "None",
      verification: { type: "provider", provider: "github" },
      publicUrl: "https://hooks.example.com/shop/orders",
      toleranceMs: 300_000,
      allowedSourceRanges: [],
      parameters: {},
      keys: [
        {
          id: keyId(inputOf().releaseKey, Buffer.from("first secret")),
          use: "Signing",
          state: "current",
          since: 1_000_000,
          value: Buffer.from("first secret").toString("base64"),
        },
      ],
      dedupe: {
        windowMs: 72 * HOUR,
        weakWindowMs: 600_000,
        earlierWindows: [],
        sources: [{ from: "header", name: "x-github-delivery", signed: false }],
        disabled: false,
        withoutId: "Signature",
      },
      limits: { maxBodyBytes: 262_144, maxInFlightPerPod: 1_000, maxBacklog: 1_000_000 },
      payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-github-event" },
      response: { status: 202 },
      retention: { deliveredMs: 72 * HOUR, deadLettersMs: 720 * HOUR, maxEvents: 10_000, keepBodies: false },
      worker: { dedicated: false, concurrency: 500 },
      destinations: [
        {
          id: `${KEY}/own`,
          name: "own",
          target: { type: "http", url: "http://own.shop.svc:8080/", viaService: true },
          eventTypes: [],
          timeoutMs: 15_000,
          concurrency: 16,
          retry: {
            type: "schedule",
            delaysMs: [1_000, 5_000, 30_000],
            jitter: 0,
            giveUpAfterMs: 72 * HOUR,
            maxRetryAfterMs: 168 * HOUR,
            maxAgeMs: 720 * HOUR,
          },
          headers: {},
          forwardHeaders: ["content-type"],
        },
      ],
    });
    expect({ unresolved, warnings, rotation }).toEqual({
      unresolved: [],
      warnings: [],
      rotation: { tooManyChanges: false },
    });
  });

  test("carries over every field of the full example", () => {
    const text = readFileSync(new URL("../../test/crds/valid/full.yaml", import.meta.url), "utf8");
    const secrets = new Map([
      ...secretsOf({ partner: { "signing-secret": "new", "signing-secret-old": "old" } }),
      ...secretsOf({ outgoing: { secret: "out", "secret.next": "out2" } }, { "davit.dev/use": "true" }),
    ]);
    const { entry, unresolved } = accepted(compile(inputOf({ route: parse(text), secrets })));
    expect(unresolved).toEqual([]);
    expect(entry).toMatchObject({
      name: "full",
      verification: {
        type: "hmac",
        header: "X-Signature",
        algorithm: "sha256",
        encoding: "hex",
        prefix: "sha256=",
        separator: ",",
        signedContent: "{timestamp}.{body}",
        timestamp: { header: "X-Timestamp", unit: "seconds" },
        keyIdHeader: "X-Key-Id",
      },
      publicUrl: "https://hooks.example.com/shop/full",
      allowedSourceRanges: ["192.0.2.0/24", "2001:db8::/32"],
      keys: [
        { keyId: "k1", state: "current" },
        { keyId: "k0", state: "previous", notAfter: Date.parse("2100-01-01T00:00:00Z") },
      ],
      dedupe: {
        windowMs: 168 * HOUR,
        weakWindowMs: 168 * HOUR,
        sources: [
          { from: "header", name: "x-delivery-id", signed: false },
          { from: "json", pointer: "/id", signed: true },
        ],
      },
      limits: { rateLimit: { requests: 100, perMs: 1_000, burst: 200, by: "Route" } },
      payload: { format: "JSON", requiredFields: ["run_id"], eventTypeFrom: "json:/type" },
      worker: { dedicated: true, concurrency: 500 },
    });
    expect(entry.destinations.map(({ target }) => target)).toEqual([
      { type: "http", url: "http://orders.shop.svc:8080/webhooks", viaService: true },
      { type: "http", url: "https://partner.example.com/hooks?tenant=1" },
      { type: "http", url: "http://lab.example.com/" },
    ]);
    expect(entry.destinations.map(({ eventTypes }) => eventTypes)).toEqual([["order.*", "invoice.paid"], [], []]);
    for (const destination of entry.destinations) {
      expect(destination).toMatchObject({
        concurrency: 16,
        headers: { "x-team": "payments" },
        forwardHeaders: ["content-type", "x-github-event"],
        retry: { type: "backoff", initialMs: 5_000, factor: 4, maxMs: 10 * HOUR, jitter: true, maxAttempts: 9 },
        signing: { scheme: "Timestamped", header: "x-signature", keys: [{ state: "current" }, { state: "next" }] },
      });
    }
  });

  test("knows a handler, and reads basic credentials as user:password", () => {
    const handler = entryOf({
      route: routeOf({
        destinations: [{ name: "own", handler: {} }],
        worker: { dedicated: { image: "registry.example.com/own:1", concurrency: 20 } },
      }),
    });
    expect(handler.destinations[0]?.target).toEqual({ type: "handler" });
    expect(handler.worker).toEqual({ dedicated: true, concurrency: 20 });
    const basic = entryOf({
      route: routeOf({ verification: { basic: {} }, secretRefs: [{ name: "login" }] }),
      secrets: secretsOf({ login: { username: "ann\n", password: "a:b\n", "password.next": "c" } }),
    });
    expect(basic.keys.map((key) => [key.state, Buffer.from(key.value, "base64").toString()])).toEqual([
      ["current", "ann:a:b"],
      ["next", "ann:c"],
    ]);
    expect(basic.dedupe.disabled).toBe(true);
  });

  test("asks the caller where a Service is", () => {
    const entry = entryOf({ serviceUrl: ({ port, path, namespace }) => `http://127.0.0.1:${port}${path}${namespace}` });
    expect(entry.destinations[0]?.target).toEqual({
      type: "http",
      url: "http://127.0.0.1:8080/shop",
      viaService: true,
    });
  });

  test("names the egress proxy of the destinations that have one", () => {
    const delivery = { proxy: "http://proxy.example.com:3128" };
    const destinations = [{ name: "partner", url: "https://partner.example.com/" }];
    const entry = entryOf({ route: routeOf({ destinations, delivery }) });
    expect(entry.destinations[0]?.proxy).toBe("http://proxy.example.com:3128");
    expect(entryOf({ route: routeOf({ destinations }) }).destinations[0]).not.toHaveProperty("proxy");
  });

  test("refuses what validation refuses", () => {
    const result = compile(inputOf({ route: routeOf({ verification: { provider: "acme" } }) }));
    expect(result).toMatchObject({ ok: false, problems: [{ path: "spec.verification.provider" }] });
  });

  test("refuses an entry that would not fit into its Secret", () => {
    const secrets = secretsOf({ github: { secret: "x".repeat(MAX_ENTRY_BYTES) } });
    expect(compile(inputOf({ secrets }))).toMatchObject({ ok: false, problems: [{ severity: "error" }] });
  });
});

describe("compile with the published entry", () => {
  const published = entryOf();

  test("keeps the previous key through the overlap and through an emptied Secret", () => {
    const secrets = secretsOf({ github: { secret: "second" } });
    const rotated = accepted(compile(inputOf({ published, secrets, now: 2_000_000 })));
    expect(rotated.entry.keys.map((key) => key.state)).toEqual(["current", "previous"]);
    expect(rotated.rotation).toMatchObject({ overlapEndsAt: 2_000_000 + 24 * HOUR });
    const emptied = accepted(compile(inputOf({ published, secrets: secretsOf({ github: { secret: "\n" } }) })));
    expect(emptied.entry.keys.map((key) => key.state)).toEqual(["previous"]);
    expect(emptied.unresolved).toMatchObject([{ path: "spec.secretRefs[0]", reason: "SecretEmpty" }]);
  });

  test("says the same again when nothing has changed", () => {
    const again = entryOf({ published: stamp(published, 0, 5_000_000), now: 5_000_000 });
    expect(sameEntry(again, published)).toBe(true);
    expect(again.seq).toBe(5_000_000);
    expect(sameEntry(entryOf({ published, route: routeOf({ suspend: "Ingest" }) }), published)).toBe(false);
  });

  test("rotates the outgoing key with the same overlap", () => {
    const delivery = { signing: { scheme: "StandardWebhooks", secretRef: { name: "out", key: "k" } } } as const;
    const route = routeOf({ delivery });
    const labels = { "davit.dev/use": "true" };
    const secrets = (value: string) => secretsOf({ github: { secret: "s" }, out: { k: value } }, labels);
    const first = entryOf({ route, secrets: secrets("one") });
    const second = accepted(compile(inputOf({ route, secrets: secrets("two"), published: first, now: 2_000_000 })));
    expect(second.entry.destinations[0]?.signing).toMatchObject({
      header: "webhook-signature",
      keys: [{ state: "current" }, { state: "previous", notAfter: 2_000_000 + 24 * HOUR }],
    });
    expect(second.rotation.nextChangeAt).toBe(2_000_000 + 24 * HOUR);
  });

  test("rotates an outgoing key that is kept apart from the published entry", () => {
    const delivery = { signing: { scheme: "StandardWebhooks", secretRef: { name: "out", key: "k" } } } as const;
    const route = routeOf({ delivery });
    const secrets = (value: string) => secretsOf({ github: { secret: "s" }, out: { k: value } }, USE);
    const full = entryOf({ route, secrets: secrets("one") });
    const kept = withSigningKeys(full, []);
    const input = inputOf({ route, secrets: secrets("two"), published: kept, now: 2_000_000 });
    const without = accepted(compile(input));
    expect(signingKeysOf(without.entry)).toMatchObject([{ state: "current" }]);
    const second = accepted(compile({ ...input, signingKeys: signingKeysOf(full) ?? [] }));
    expect(signingKeysOf(second.entry)).toMatchObject([{ state: "current" }, { state: "previous" }]);
    expect(withSigningKeys(second.entry, [])).toEqual(kept);
    expect(signingKeysOf(entryOf())).toBeUndefined();
  });
});

describe("references that yield no key", () => {
  test.each([
    ["SecretNotFound", {}],
    ["SecretKeyMissing", { github: { other: "value" } }],
    ["SecretEmpty", { github: { secret: "\r\n" } }],
  ])("leave the route without a key: %s", (reason, secrets) => {
    const result = accepted(compile(inputOf({ secrets: secretsOf(secrets) })));
    expect(result.entry.keys).toEqual([]);
    expect(result.unresolved).toMatchObject([{ path: "spec.secretRefs[0]", reason }]);
  });

  test("tell a key past its notAfter", () => {
    const route = routeOf({ secretRefs: [{ name: "github", key: "secret", notAfter: "1970-01-01T00:00:01Z" }] });
    const result = accepted(compile(inputOf({ route, published: entryOf() })));
    expect(result.entry.keys).toEqual([]);
    expect(result.unresolved).toMatchObject([{ reason: "SecretExpired" }]);
  });

  test("demand the label before a Secret signs what goes out", () => {
    const delivery = { signing: { scheme: "StandardWebhooks", secretRef: { name: "out", key: "k" } } } as const;
    const secrets = secretsOf({ github: { secret: "s" }, out: { k: "value" } });
    const result = accepted(compile(inputOf({ route: routeOf({ delivery }), secrets })));
    expect(result.entry.destinations[0]?.signing?.keys).toEqual([]);
    expect(result.unresolved).toMatchObject([{ path: "spec.delivery.signing.secretRef", reason: "SecretNotLabelled" }]);
  });

  test("never show a value in what is said about them", () => {
    const secrets = secretsOf({ github: { other: "a very secret value" } });
    const { unresolved } = accepted(compile(inputOf({ secrets })));
    expect(JSON.stringify(unresolved)).not.toContain("a very secret value");
  });
});

describe("stamp", () => {
  test("grows with every change and over a restore", () => {
    expect(stamp(entryOf(), 10, 5).seq).toBe(11);
    expect(stamp(entryOf(), 10, 500).seq).toBe(500);
  });
});
