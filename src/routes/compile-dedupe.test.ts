import { describe, expect, test } from "vitest";
import type { WebhookRouteSpec } from "../api/generated/webhook-route.ts";
import { presets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { entryOf, routeOf, secretsOf } from "./testing.ts";

const HOUR = 3_600_000;
const secrets = secretsOf({ github: { secret: "s" } });

function preset(name: string): Preset {
  const found = presets.get(name);
  if (found === undefined) throw new Error(`${name} is not there`);
  return found;
}

function dedupeOf(spec: Partial<WebhookRouteSpec>) {
  return entryOf({ route: routeOf(spec), secrets }).dedupe;
}

describe("the parts of a delivery's id", () => {
  test("come from the preset, with what the signature covers", () => {
    expect(dedupeOf({ verification: { provider: "stripe" } }).sources).toEqual([
      { from: "json", pointer: "/id", signed: true },
    ]);
    expect(dedupeOf({ verification: { provider: "standard-webhooks" } }).sources).toEqual([
      { from: "header", name: "webhook-id", signed: true },
    ]);
    expect(dedupeOf({ verification: { provider: "queue-push" } }).sources).toEqual([
      { from: "header", name: "x-delivery-id", signed: false },
    ]);
  });

  test("of a preset are taken as they are: what may be missing, forms, and what the signature covers", () => {
    const sources = [
      { from: "form", name: "MessageSid", signed: true, optional: true },
      { from: "header", name: "x-retry", signed: false },
    ] as const;
    const github = { ...preset("github"), dedupe: sources, withoutId: "Body" } as const;
    const compiled = entryOf({ route: routeOf(), secrets, presets: new Map([["github", github]]) }).dedupe;
    expect(compiled).toMatchObject({ sources, withoutId: "Body", disabled: false, weakWindowMs: 72 * HOUR });
  });

  test("must all be there once they are written out", () => {
    const dedupe = { keyFrom: ["form:MessageSid", "json:/id"] };
    expect(dedupeOf({ verification: { provider: "stripe" }, dedupe })).toMatchObject({
      sources: [
        { from: "form", name: "MessageSid", signed: true },
        { from: "json", pointer: "/id", signed: true },
      ],
      withoutId: "Refuse",
    });
  });

  test("are none, and nothing else counts, where the provider says that equal bodies are different events", () => {
    const github = { ...preset("github"), dedupe: [], withoutId: "None" } as const;
    const compiled = entryOf({ route: routeOf(), secrets, presets: new Map([["github", github]]) }).dedupe;
    expect(compiled).toMatchObject({ sources: [], withoutId: "None", disabled: true });
  });

  test("count as signed when the signed content names them", () => {
    const dedupe = { keyFrom: ["header:X-Delivery-ID", "header:X-Tenant", "header:X-Other"] };
    const hmac = { header: "X-Signature", signedContent: "{id}.{header:X-Tenant}.{body}" };
    expect(dedupeOf({ verification: { hmac }, dedupe }).sources.map(({ signed }) => signed)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("are never signed by a token", () => {
    const verification = { token: { header: "X-Token" } };
    expect(dedupeOf({ verification, dedupe: { keyFrom: ["json:/id"] } })).toMatchObject({
      sources: [{ from: "json", pointer: "/id", signed: false }],
      disabled: false,
    });
  });

  test("are missing where only the weak key is left, and there is no dedupe at all without a signature", () => {
    expect(dedupeOf({ verification: { hmac: { header: "X-Signature" } } })).toMatchObject({
      sources: [],
      disabled: false,
      withoutId: "Signature",
      weakWindowMs: 600_000,
    });
    expect(dedupeOf({ verification: { token: { header: "X-Token" } } })).toMatchObject({
      sources: [],
      disabled: true,
      withoutId: "None",
    });
  });
});

describe("an edited window", () => {
  const written = (window: string) => routeOf({ dedupe: { window } });
  const first = entryOf({ route: written("10h"), secrets });

  test("is still looked into until the new one has passed", () => {
    const second = entryOf({ route: written("20h"), secrets, published: first, now: 1_000 });
    expect(second.dedupe).toMatchObject({
      windowMs: 20 * HOUR,
      earlierWindows: [{ windowMs: 10 * HOUR, until: 1_000 + 20 * HOUR }],
    });
    const later = entryOf({ route: written("20h"), secrets, published: second, now: 1_000 + 20 * HOUR - 1 });
    expect(later.dedupe.earlierWindows).toHaveLength(1);
    const over = entryOf({ route: written("20h"), secrets, published: later, now: 1_000 + 20 * HOUR });
    expect(over.dedupe.earlierWindows).toEqual([]);
  });

  test("keeps at most the two that matter longest", () => {
    let published = first;
    for (const [index, window] of ["20h", "30h", "40h"].entries()) {
      published = entryOf({ route: written(window), secrets, published, now: index });
    }
    expect(published.dedupe.earlierWindows.map(({ windowMs }) => windowMs / HOUR)).toEqual([30, 20]);
  });

  test("is no earlier one when it comes back", () => {
    const second = entryOf({ route: written("20h"), secrets, published: first, now: 1 });
    const third = entryOf({ route: written("10h"), secrets, published: second, now: 2 });
    expect(third.dedupe.earlierWindows).toEqual([{ windowMs: 20 * HOUR, until: 2 + 10 * HOUR }]);
  });

  test("covers the weak key's window too", () => {
    const route = (window?: string) =>
      routeOf({ verification: { hmac: { header: "X-Signature" } }, ...(window ? { dedupe: { window } } : {}) });
    const unwritten = entryOf({ route: route(), secrets });
    const edited = entryOf({ route: route("24h"), secrets, published: unwritten, now: 0 });
    expect(edited.dedupe.earlierWindows.map(({ windowMs }) => windowMs)).toEqual([600_000]);
  });
});
