import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseManifests } from "../api/manifests.ts";
import { compile } from "../routes/compile.ts";
import { createVerifier, presetOf, schemeOf, signsUrl } from "../verification/verifier.ts";

const DIR = fileURLToPath(new URL("../../examples/providers/", import.meta.url));
const FILES = readdirSync(DIR).filter((name) => name.endsWith(".yaml"));

/** Providers that most teams meet. */
const POPULAR =
  "github gitlab stripe shopify slack twilio zoom meta discord sendgrid linear pagerduty paypal aws-sns adyen hubspot plaid square svix clerk xero notion asana typeform okta ms-graph".split(
    " ",
  );

function manifestsOf(file: string) {
  return parseManifests([{ file, text: readFileSync(DIR + file, "utf8") }]);
}

describe("examples/providers", () => {
  it("has a manifest for each popular provider", () => {
    expect(FILES).toEqual(expect.arrayContaining(POPULAR.map((name) => `${name}.yaml`)));
  });

  it.each(FILES)("%s is valid, and makes a route of the provider it is named after", (file) => {
    const { routes, secrets, problems } = manifestsOf(file);
    expect(problems.filter(({ problem }) => problem.severity === "error")).toEqual([]);
    const [route, ...others] = routes;
    expect(others).toEqual([]);
    const { namespace = "", spec } = route ?? {};
    expect(spec?.verification.provider).toBe(file.replace(".yaml", ""));
    const result = compile({
      route: route?.route as NonNullable<typeof route>["route"],
      namespace,
      namespaceUid: "a-namespace-uid",
      secrets: secrets.get(namespace) ?? new Map<string, never>(),
      now: 0,
      releaseKey: Buffer.alloc(32),
    });
    expect(result).toMatchObject({ ok: true });
    if (!result.ok) return;
    const { verification, parameters, toleranceMs } = result.entry;
    expect(() => createVerifier(verification, { parameters, toleranceMs })).not.toThrow();
  });

  it.each(FILES)(
    "%s says publicUrl where the provider signs it, and names every Secret that the provider needs",
    (file) => {
      const { routes, secrets } = manifestsOf(file);
      const [route] = routes;
      const preset = presetOf(file.replace(".yaml", ""));
      const written = route?.route.spec.verification ?? {};
      expect("publicUrl" in written).toBe(signsUrl(schemeOf(preset.scheme)));
      const refs = route?.spec.secretRefs ?? [];
      const wanted = [...(preset.secrets.signing === "none" ? [] : ["Signing"]), ...(preset.secrets.others ?? [])];
      expect([...new Set(refs.map(({ use }) => use))]).toEqual(wanted);
      // What a provider hands over cannot be in a manifest beforehand.
      const isHandedOver = preset.parameters.some(({ name }) => name === "handshake");
      const given = secrets.get("webhooks")?.size ?? 0;
      expect(given).toBe(isHandedOver || wanted.length === 0 ? 0 : 1);
    },
  );
});
