import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { presets } from "../../verification/presets/index.ts";
import { keysOf, plainRequest } from "../../verification/vectors.ts";
import { createVerifier } from "../../verification/verifier.ts";
import { type Draft, type Sender, signMessage } from "./request.ts";

const NOW = 1_760_000_000_000;
const URL_OF_ROUTE = "https://hooks.example.com/in";

function sender(provider: string): Sender {
  return {
    verification: { type: "provider", provider },
    sources: presets.get(provider)?.dedupe ?? [],
    requiredFields: ["run_id", "/data/object"],
    publicUrl: URL_OF_ROUTE,
    keys: keysOf([provider === "standard-webhooks" ? "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" : "secret"]),
  };
}

function verdict(provider: string, draft: Partial<Draft>) {
  const to = sender(provider);
  const { headers, body } = signMessage(to, "/in", { id: "msg_1", idInBody: true, now: NOW, ...draft });
  const request = plainRequest({ method: "POST", url: URL_OF_ROUTE, path: "/in", headers, body });
  return { headers, body, verdict: createVerifier(to.verification).verify(request, to.keys, NOW) };
}

const PROVIDERS = [...presets.keys()];

describe("signMessage", () => {
  it.each(PROVIDERS)("makes a message that %s's check accepts, whatever the body", (provider) => {
    expect(verdict(provider, {}).verdict.ok).toBe(true);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(verdict(provider, { body: Buffer.from(bytes), idInBody: false }).verdict.ok).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it.each(PROVIDERS)("makes a bad signature that %s's check calls wrong, not malformed", (provider) => {
    expect(verdict(provider, { badSignature: true }).verdict).toMatchObject({ ok: false, reason: "SignatureMismatch" });
  });

  it("puts the id where the provider has it", () => {
    expect(verdict("github", {}).headers["x-github-delivery"]).toBe("msg_1");
    expect(JSON.parse(verdict("stripe", {}).body.toString())).toMatchObject({ id: "msg_1", type: "invoice.paid" });
    expect(verdict("standard-webhooks", {}).headers["webhook-id"]).toBe("msg_1");
  });

  it("leaves the user's own bytes alone unless an id for them was given", () => {
    const body = Buffer.from('{ "id": "mine" }');
    expect(verdict("stripe", { body, idInBody: false }).body).toEqual(body);
    expect(verdict("stripe", { body, idInBody: true }).body.toString()).toBe('{"id":"msg_1"}');
    expect(verdict("stripe", { body: Buffer.from("no json"), idInBody: true }).body.toString()).toBe("no json");
  });

  it("gives a sample every field the route demands", () => {
    expect(JSON.parse(verdict("queue-push", {}).body.toString())).toMatchObject({ run_id: "sample" });
  });
});
