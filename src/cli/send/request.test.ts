import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { presets } from "../../verification/presets/index.ts";
import type { Preset } from "../../verification/presets/preset.ts";
import { plainRequest } from "../../verification/vectors.ts";
import { createVerifier, presetOf } from "../../verification/verifier.ts";
import { type Draft, type Sender, signMessage } from "./request.ts";
import { senderAs } from "./testing.ts";

const NOW = 1_760_000_000_000;
const URL_OF_ROUTE = "https://hooks.example.com/in";

/** Those that a Secret's text can sign for. */
const SHARED = [...presets.values()].filter(({ secrets }) => secrets.signing === "shared");

function send(preset: Preset, draft: Partial<Draft> = {}, changes: Partial<Sender> = {}) {
  const sender = { ...senderAs(preset, URL_OF_ROUTE), ...changes };
  const { headers, body, path } = signMessage(sender, "/in", { id: "msg_1", idInBody: true, now: NOW, ...draft });
  const at = path.indexOf("?");
  const url = at === -1 ? URL_OF_ROUTE : URL_OF_ROUTE + path.slice(at);
  const request = plainRequest({ method: "POST", url, path, headers, body });
  return { headers, body, path, verdict: createVerifier(sender.verification).verify(request, sender.keys, NOW) };
}

const json = (body: Buffer) => JSON.parse(body.toString()) as unknown;
const WITH_ID = SHARED.filter(({ dedupe }) => dedupe.length > 0);

describe("signMessage", () => {
  it.each(SHARED)("makes a sample of $name that its check accepts", (preset) => {
    expect(send(preset).verdict).toMatchObject({ ok: true });
  });

  it.each(SHARED)("makes a bad signature that the check of $name calls wrong, not malformed", (preset) => {
    const { verdict } = send(preset, { badSignature: true });
    expect(verdict.ok || verdict.reason).toMatch(/^(SignatureMismatch|TokenMismatch)$/);
  });

  it.each(WITH_ID)("puts the id where $name has it, so that another id is another event", (preset) => {
    const parts = (id: string) => {
      const { headers, body } = send(preset, { id });
      return JSON.stringify([
        preset.dedupe.map((source) => ("name" in source ? headers[source.name] : "")),
        body.toString(),
      ]);
    };
    expect(parts("msg_other")).toContain("msg_other");
    expect(parts("msg_other").replaceAll("msg_other", "msg_1").length).toBe(parts("msg_1").length);
  });

  it.each(["github", "stripe", "standard-webhooks", "queue-push"])(
    "signs any body of the user's as %s would",
    (name) => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
          expect(send(presetOf(name), { body: Buffer.from(bytes), idInBody: false }).verdict.ok).toBe(true);
        }),
        { numRuns: 25 },
      );
    },
  );

  it("puts the id into headers, into the body at any depth, and into a form", () => {
    expect(send(presetOf("github")).headers["x-github-delivery"]).toBe("msg_1");
    expect(json(send(presetOf("stripe")).body)).toMatchObject({ id: "msg_1", type: "invoice.paid" });
    expect(send(presetOf("standard-webhooks")).headers["webhook-id"]).toBe("msg_1");
    expect(json(send(presetOf("pagerduty")).body)).toMatchObject({ event: { id: "msg_1" } });
    expect(json(send(presetOf("hubspot")).body)).toMatchObject([{ eventId: "msg_1" }]);
    const form = new URLSearchParams(send(presetOf("twilio")).body.toString());
    expect([form.get("MessageSid"), form.get("MessageStatus"), form.has("CallSid")]).toEqual([
      "msg_1",
      "delivered",
      false,
    ]);
  });

  it("puts it where the route's own keyFrom wants it, too", () => {
    const sources = [
      { from: "json", pointer: "/data/0/key", signed: true },
      { from: "header", name: "X-Key", signed: false },
    ] as const;
    const { headers, body } = send(presetOf("queue-push"), {}, { sources });
    expect(headers["x-key"]).toBe("msg_1");
    expect(json(body)).toMatchObject({ data: { "0": { key: "msg_1" } } });
  });

  it("leaves the user's own bytes alone unless an id for them was given", () => {
    const body = Buffer.from('{ "id": "mine" }');
    expect(send(presetOf("stripe"), { body, idInBody: false }).body).toEqual(body);
    expect(send(presetOf("stripe"), { body, idInBody: true }).body.toString()).toBe('{"id":"msg_1"}');
    expect(send(presetOf("stripe"), { body: Buffer.from("no json"), idInBody: true }).body.toString()).toBe("no json");
  });

  it("gives a sample every field the route demands", () => {
    const { body } = send(presetOf("queue-push"), {}, { requiredFields: ["run_id", "/data/object"] });
    expect(json(body)).toMatchObject({ run_id: "sample", data: "sample", type: "sample.sent" });
  });

  it("puts a token that belongs into the query there", () => {
    expect(send(presetOf("docker-hub")).path).toMatch(/^\/in\?token=/);
  });
});
