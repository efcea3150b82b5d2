import { describe, expect, test } from "vitest";
import type { WebhookDestination } from "../api/generated/webhook-destination.ts";
import { compileDestination, type CompileDestinationInput, sameDestination } from "./compile-destination.ts";
import { entryProblem } from "./entry-check.ts";
import { entryOf, secretsOf } from "./testing.ts";

const USABLE = { "davit.dev/use": "true" };

function destinationOf(spec: Partial<WebhookDestination["spec"]> = {}): WebhookDestination {
  return {
    apiVersion: "davit.dev/v1alpha1",
    kind: "WebhookDestination",
    metadata: { name: "acme-eu", namespace: "shop" },
    spec: { url: "https://acme.example.com/hooks", ...spec },
  };
}

function compiled(spec: Partial<WebhookDestination["spec"]> = {}, more: Partial<CompileDestinationInput> = {}) {
  const result = compileDestination({
    destination: destinationOf(spec),
    namespace: "shop",
    secrets: secretsOf({ acme: { token: "Bearer t\n", signing: "k" } }, USABLE),
    now: 1_000_000,
    releaseKey: Buffer.from("release key of a test"),
    ...more,
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result;
}

describe("compileDestination", () => {
  test("leaves to the route what it does not write, and holds the defaults meanwhile", () => {
    const { entry, unresolved } = compiled();
    expect(unresolved).toEqual([]);
    expect(entry).toEqual({
      id: "~acme-eu",
      labels: {},
      name: "acme-eu",
      kind: "shared",
      seq: 0,
      target: { type: "http", url: "https://acme.example.com/hooks" },
      eventTypes: [],
      timeoutMs: 15_000,
      concurrency: 1,
      retry: expect.objectContaining({ type: "schedule", jitter: 0.1 }),
      headers: {},
      forwardHeaders: ["content-type"],
      disableAfter: { consecutiveFailures: 50, failingForMs: 72 * 3_600_000 },
      gaps: ["timeoutMs", "concurrency", "retry", "signing", "headers", "forwardHeaders", "proxy"],
    });
    expect(entryProblem({ ...entryOf(), destinations: [entry] })).toBeUndefined();
  });

  test("holds what it writes, Secrets resolved", () => {
    const { entry } = compiled({
      id: "Acme GmbH/1",
      concurrency: 8,
      timeout: "30s",
      retry: { schedule: ["1s"] },
      signing: { scheme: "Timestamped", secretRef: { name: "acme", key: "signing" }, header: "X-Sig" },
      headersFrom: [{ name: "Authorization", secretRef: { name: "acme", key: "token" } }],
      suspend: true,
    });
    expect(entry).toMatchObject({
      id: "~Acme%20GmbH%2F1",
      concurrency: 8,
      timeoutMs: 30_000,
      retry: { delaysMs: [1_000], jitter: 0 },
      signing: { scheme: "Timestamped", header: "x-sig", keys: [{ state: "current", value: "aw==" }] },
      headersFrom: { authorization: "Bearer t" },
      suspended: true,
      gaps: ["headers", "forwardHeaders", "proxy"],
    });
    expect(entry.incomplete).toBeUndefined();
  });

  test("is incomplete while a Secret gives no value, and says which and why", () => {
    const headersFrom = [{ name: "Authorization", secretRef: { name: "acme", key: "token" } }];
    const reasonOf = (secrets: CompileDestinationInput["secrets"]) => {
      const { entry, unresolved } = compiled({ headersFrom }, { secrets });
      expect(entry.incomplete).toEqual(["spec.headersFrom[0].secretRef"]);
      expect(entry.headersFrom).toEqual({});
      return unresolved.map(({ path, reason }) => `${path} ${reason}`);
    };
    expect(reasonOf(new Map())).toEqual(["spec.headersFrom[0].secretRef SecretNotFound"]);
    expect(reasonOf(secretsOf({ acme: { token: "t" } }))).toEqual(["spec.headersFrom[0].secretRef SecretNotLabelled"]);
    expect(reasonOf(secretsOf({ acme: { token: "" } }, USABLE))).toEqual(["spec.headersFrom[0].secretRef SecretEmpty"]);
  });

  test("holds the certificates of the exchange, and is incomplete without one of them", () => {
    const tls = {
      caSecretRef: { name: "acme", key: "ca.crt" },
      clientCertificateSecretRef: { name: "acme-client" },
    };
    const secrets = (client: Record<string, string>) =>
      secretsOf({ acme: { "ca.crt": "CA" }, "acme-client": client }, USABLE);
    const whole = compiled({ tls }, { secrets: secrets({ "tls.crt": "CERTIFICATE", "tls.key": "KEY" }) });
    expect(whole.entry.tls).toEqual({ ca: "CA", certificate: "CERTIFICATE", key: "KEY" });
    expect(whole.entry.incomplete).toBeUndefined();
    const half = compiled({ tls }, { secrets: secrets({ "tls.crt": "CERTIFICATE" }) });
    expect(half.entry.incomplete).toEqual(["spec.tls.clientCertificateSecretRef"]);
    expect(half.unresolved.map(({ path }) => path)).toEqual(["spec.tls.clientCertificateSecretRef"]);
    expect(compiled({ tls }).entry.incomplete).toEqual(["spec.tls.caSecretRef", "spec.tls.clientCertificateSecretRef"]);
  });

  test("keeps the previous signing key for a day", () => {
    const signing = { scheme: "StandardWebhooks", secretRef: { name: "acme", key: "signing" } } as const;
    const { entry } = compiled({ signing });
    const secrets = secretsOf({ acme: { signing: "second" } }, USABLE);
    const next = compiled({ signing }, { secrets, published: entry, now: 2_000_000 });
    expect(next.entry.signing?.keys.map(({ state }) => state)).toEqual(["current", "previous"]);
    expect(next.rotation.overlapEndsAt).toBe(2_000_000 + 86_400_000);
    expect(sameDestination(entry, next.entry)).toBe(false);
    expect(sameDestination(entry, { ...entry, seq: 9 })).toBe(true);
  });

  test("refuses what validation refuses", () => {
    const input = { namespace: "shop", secrets: new Map(), now: 1, releaseKey: Buffer.alloc(1) };
    expect(
      compileDestination({ ...input, destination: destinationOf({ url: "http://acme.example.com/" }) }),
    ).toMatchObject({
      ok: false,
      problems: [{ path: "spec.url" }],
    });
  });
});
