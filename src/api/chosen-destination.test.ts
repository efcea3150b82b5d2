import { describe, expect, test } from "vitest";
import { resolveSpec } from "./defaults.ts";
import type { WebhookRouteSpec } from "./generated/webhook-route.ts";
import { unsignedIdHeader } from "./chosen-destination.ts";
import { validateRoute } from "./validation.ts";

const HMAC = { header: "X-Signature", algorithm: "sha256", encoding: "hex" } as const;

function spec(
  idFrom: string,
  verification: WebhookRouteSpec["verification"],
  keyFrom: string[] = [],
): WebhookRouteSpec {
  return {
    exposure: { host: "hooks.example.com", path: "/in" },
    verification,
    secretRefs: [{ name: "s", key: "k" }],
    ...(keyFrom.length > 0 && { dedupe: { keyFrom } }),
    destinationSelector: { matchLabels: { tier: "gold" }, idFrom },
  };
}

const found = (...args: Parameters<typeof spec>) => unsignedIdHeader(resolveSpec(spec(...args), undefined));

describe("the header that chooses an event's destination", () => {
  test("is warned of when the signature covers the body and not the header", () => {
    expect(found("header:X-Customer", { hmac: { ...HMAC, signedContent: "{body}" } })).toBe("X-Customer");
    expect(found("header:X-Customer", { provider: "github" })).toBe("X-Customer");
    const route = {
      apiVersion: "davit.dev/v1alpha1",
      kind: "WebhookRoute",
      metadata: { name: "a", namespace: "shop" },
      spec: spec("header:X-Customer", { provider: "github" }),
    };
    expect(validateRoute(route).problems).toContainEqual({
      path: "spec.destinationSelector.idFrom",
      message: expect.stringContaining("header X-Customer is not covered by the signature"),
      remedy: expect.any(String),
      source: "semantic",
      severity: "warning",
    });
  });

  test("is none when the signature covers it, by its name or as the id", () => {
    const byName = "{header:x-customer}.{body}";
    expect(found("header:X-Customer", { hmac: { ...HMAC, signedContent: byName } })).toBeUndefined();
    const asId = { hmac: { ...HMAC, signedContent: "{id}.{body}" } };
    expect(found("header:X-Customer", asId, ["header:X-Customer"])).toBeUndefined();
    expect(found("header:X-Customer", asId, ["header:X-Other"])).toBe("X-Customer");
  });

  test("is none where nothing is signed, or the id is in the body", () => {
    expect(found("header:X-Customer", { token: { header: "X-Token" } })).toBeUndefined();
    expect(found("header:X-Customer", { none: {} })).toBeUndefined();
    expect(found("json:/customer", { provider: "github" })).toBeUndefined();
  });
});
