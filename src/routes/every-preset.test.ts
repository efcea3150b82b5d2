import { describe, expect, test } from "vitest";
import type { WebhookRoute } from "../api/generated/webhook-route.ts";
import { presets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { compile } from "./compile.ts";
import { readPublication, published } from "./publication.ts";
import { inputOf, routeOf, secretsOf } from "./testing.ts";

/** Values of parameters that must be there and have no list of values. */
const SAMPLES: Readonly<Record<string, string>> = {
  topicArn: "arn:aws:sns:eu-west-1:123456789012:orders",
  webhookId: "8PT597110X687430LKGECATA",
  clientId: "5f6c7d8e9fa0b1c2d3e4f5a6",
};

/** The smallest route of a provider: only what its preset says that it needs. */
function smallest({ name, secrets, parameters }: Preset): WebhookRoute {
  const uses = [...(secrets.signing === "none" ? [] : (["Signing"] as const)), ...(secrets.others ?? [])];
  const needed = parameters.filter(({ required }) => required);
  const values = Object.fromEntries(
    needed.map((parameter) => [parameter.name, parameter.values?.[0] ?? SAMPLES[parameter.name] ?? "x"]),
  );
  const verification = { provider: name, ...(needed.length > 0 && { parameters: values }) };
  const { secretRefs: _, ...spec } = routeOf({ verification }).spec;
  if (uses.length === 0) return { ...routeOf(), spec };
  return routeOf({ verification, secretRefs: uses.map((use) => ({ name: "provider", key: use, use })) });
}

function compiled(preset: Preset) {
  const secrets = secretsOf({ provider: { Signing: "a", VerifyToken: "b", ApiCredential: "c" } });
  const result = compile(inputOf({ route: smallest(preset), secrets }));
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result;
}

describe("the smallest route of every provider", () => {
  test.each([...presets.values()].map((preset) => [preset.name, preset] as const))(
    "%s is valid, and published with all that its preset says",
    (_, preset) => {
      const { entry, unresolved, warnings } = compiled(preset);
      expect(unresolved).toEqual([]);
      expect(entry).toMatchObject({
        toleranceMs: preset.toleranceMs,
        response: { status: preset.ack.status },
        dedupe: { sources: preset.dedupe, withoutId: preset.withoutId, windowMs: preset.retryWindowMs },
        payload: preset.payload,
      });
      expect(entry.dedupe.bodyExcept).toEqual(preset.bodyExcept);
      expect(entry.dedupe.idWithBody).toBe(preset.idWithBody);
      // What still verifies must still be known, with an id and without.
      expect(entry.dedupe.windowMs).toBeGreaterThanOrEqual(entry.toleranceMs);
      expect(entry.dedupe.weakWindowMs).toBeGreaterThanOrEqual(entry.toleranceMs);
      expect(readPublication(JSON.stringify(published(entry)))).toMatchObject({ ok: true });
      // What is only doubtful is said: never that something is missing or superfluous in it.
      const doubtful = ["spec.dedupe.keyFrom", "spec.verification.publicUrl"];
      expect(warnings.filter(({ path }) => !doubtful.includes(path))).toEqual([]);
    },
  );

  test("holds its keys by use", () => {
    const meta = presets.get("meta");
    if (meta === undefined) throw new Error("meta is not there");
    expect(compiled(meta).entry.keys.map(({ use, state }) => `${use} ${state}`)).toEqual([
      "Signing current",
      "VerifyToken current",
    ]);
  });
});
