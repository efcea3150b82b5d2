import { describe, expect, test } from "vitest";
import { parseDuration } from "../lib/duration.ts";
import { presets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import {
  FOREIGN_ENDPOINT_JITTER,
  FOREIGN_ENDPOINT_SCHEDULE,
  OWN_SERVICE_SCHEDULE,
  resolveRetry,
  resolveSpec,
} from "./defaults.ts";
import type { WebhookRouteSpec } from "./generated/webhook-route.ts";

const HOUR = 3_600_000;

function spec(more: Partial<WebhookRouteSpec> = {}): WebhookRouteSpec {
  return {
    exposure: { host: "hooks.example.com", path: "/a" },
    verification: { provider: "stripe" },
    secretRefs: [{ name: "stripe", key: "secret" }],
    destinations: [{ name: "own", serviceRef: { name: "own", port: 80 } }],
    ...more,
  };
}

function preset(name: string): Preset {
  const found = presets.get(name);
  if (found === undefined) throw new Error(`${name} is not there`);
  return found;
}

describe("the default retry schedules", () => {
  test("give an endpoint of somebody else 9 attempts within 24 to 72 hours, whatever the jitter", () => {
    const total = FOREIGN_ENDPOINT_SCHEDULE.reduce((sum, delay) => sum + parseDuration(delay), 0);
    expect(FOREIGN_ENDPOINT_SCHEDULE).toHaveLength(8);
    expect(total * (1 - FOREIGN_ENDPOINT_JITTER)).toBeGreaterThan(24 * HOUR);
    expect(total * (1 + FOREIGN_ENDPOINT_JITTER)).toBeLessThan(72 * HOUR);
    expect(total / HOUR).toBeCloseTo(51.6, 1);
  });

  test("let an own service fail four times", () => {
    expect(OWN_SERVICE_SCHEDULE.map(parseDuration)).toEqual([1_000, 5_000, 30_000]);
  });

  test("have no jitter once they are written out", () => {
    expect(resolveRetry({ schedule: ["5s"] }, false)).toMatchObject({ schedule: ["5s"], jitter: 0 });
    expect(resolveRetry({}, false)).toMatchObject({ jitter: 0.1 });
    expect(resolveRetry({}, true)).toMatchObject({ jitter: 0 });
  });

  test("make way for a backoff, which has full jitter unless told otherwise", () => {
    const backoff = { initial: "1s", factor: 2, max: "1h", maxAttempts: 5 };
    const resolved = resolveRetry({ backoff }, true);
    expect(resolved).toEqual({
      giveUpAfter: "72h",
      maxRetryAfter: "168h",
      maxAge: "720h",
      backoff: { ...backoff, jitter: true },
    });
  });
});

describe("resolveSpec", () => {
  test("takes what the provider's preset knows", () => {
    const resolved = resolveSpec(spec(), presets.get("stripe"));
    expect(resolved.dedupe).toEqual({
      window: "72h",
      weakWindow: "10m",
      keyFrom: ["json:/id"],
      withoutId: "Signature",
    });
    expect(resolved.verification.tolerance).toBe("5m");
    expect(resolveSpec(spec(), presets.get("queue-push"))).toMatchObject({
      response: { status: 204 },
      payload: { format: "JSON" },
    });
  });

  test("leaves the clock out where the preset does, unless the manifest writes a tolerance", () => {
    const patient = { ...preset("stripe"), toleranceMs: 0 };
    expect(resolveSpec(spec(), patient).verification).not.toHaveProperty("tolerance");
    const written = spec({ verification: { provider: "stripe", tolerance: "1m" } });
    expect(resolveSpec(written, patient).verification.tolerance).toBe("1m");
  });

  test("says what stands for a delivery without an id", () => {
    const withoutId = (verification: WebhookRouteSpec["verification"], known?: Preset) =>
      resolveSpec(spec({ verification }), known).dedupe.withoutId;
    expect(withoutId({ hmac: { header: "X-Signature" } })).toBe("Signature");
    expect(withoutId({ token: { header: "X-Token" } })).toBe("None");
    expect(withoutId({ none: {} })).toBe("None");
    expect(withoutId({ provider: "stripe" }, { ...preset("stripe"), withoutId: "None" })).toBe("None");
  });

  test("compares bodies for as long as the provider repeats them, signatures for a moment", () => {
    const weakWindow = (withoutId: Preset["withoutId"], more: Partial<WebhookRouteSpec> = {}) =>
      resolveSpec(spec(more), { ...preset("stripe"), withoutId }).dedupe.weakWindow;
    expect(weakWindow("Body")).toBe("72h");
    expect(weakWindow("Body", { dedupe: { window: "2h" } })).toBe("2h");
    expect(weakWindow("Signature")).toBe("10m");
  });

  test("writes the parts of a preset's id as a manifest would", () => {
    const dedupe: Preset["dedupe"] = [
      { from: "form", name: "MessageSid", signed: true, optional: true },
      { from: "header", name: "x-id", signed: false },
    ];
    expect(resolveSpec(spec(), { ...preset("stripe"), dedupe }).dedupe.keyFrom).toEqual([
      "form:MessageSid",
      "header:x-id",
    ]);
  });

  test("fills in everything else", () => {
    expect(resolveSpec(spec(), undefined)).toMatchObject({
      instance: "default",
      exposure: { methods: ["POST"] },
      verification: { publicUrl: "https://hooks.example.com/a", tolerance: "5m" },
      secretRefs: [{ use: "Signing" }],
      rotation: { overlap: "24h" },
      dedupe: { window: "168h", keyFrom: [] },
      limits: { maxBodyBytes: 262_144, maxInFlightPerPod: 1_000, maxBacklog: 1_000_000 },
      payload: { format: "Any", requiredFields: [] },
      response: { status: 202 },
      retention: { delivered: "72h", deadLetters: "720h", maxEvents: 10_000, keepBodies: false },
      deletionPolicy: "Retain",
      suspend: "None",
    });
  });

  test("defaults delivery by the kind of target", () => {
    const resolved = resolveSpec(
      spec({
        destinations: [
          { name: "own", serviceRef: { name: "own", port: 80 } },
          { name: "theirs", url: "https://example.com/" },
          { name: "expired", cleanup: { policyRef: { name: "expired" } } },
        ],
      }),
      undefined,
    );
    expect(resolved.destinations.map(({ delivery }) => [delivery.concurrency, delivery.timeout])).toEqual([
      [16, "15s"],
      [1, "15s"],
      [16, "15s"],
    ]);
    expect(resolved.destinations[1]?.delivery.retry).toMatchObject({ schedule: FOREIGN_ENDPOINT_SCHEDULE });
    expect(resolved.destinations[2]?.delivery.retry).toEqual(resolved.destinations[1]?.delivery.retry);
    expect(resolved.destinations[0]).toMatchObject({ serviceRef: { path: "/", scheme: "http" } });
    expect(resolved.payload.format).toBe("JSON");
  });

  test("keeps what is written", () => {
    const resolved = resolveSpec(
      spec({
        dedupe: { window: "1h", keyFrom: ["header:X-Id"] },
        limits: { rateLimit: { requests: 10, burst: 50 } },
        payload: { requiredFields: ["run_id"] },
        response: { status: 200 },
      }),
      presets.get("stripe"),
    );
    expect(resolved.dedupe).toEqual({
      window: "1h",
      weakWindow: "1h",
      keyFrom: ["header:X-Id"],
      withoutId: "Refuse",
    });
    expect(resolved.limits.rateLimit).toEqual({ requests: 10, burst: 50, per: "1s", by: "Route" });
    expect(resolved.payload).toMatchObject({ format: "JSON", requiredFields: ["run_id"] });
    expect(resolved.response.status).toBe(200);
  });

  test("never changes the spec it is given", () => {
    const written = spec();
    const copy = structuredClone(written);
    resolveSpec(written, presets.get("stripe"));
    expect(written).toEqual(copy);
  });
});
