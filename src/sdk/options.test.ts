import { describe, expect, test } from "vitest";
import { type IngestSettings, serverRoute } from "./options.ts";
import { resolveQueue } from "./queue.ts";

describe("the route of createServer", () => {
  test("tells deliveries apart as the provider's preset says, also those without an id", () => {
    const dedupe = (provider?: string) =>
      serverRoute(resolveQueue({}), { secret: "a secret of a test", ...(provider !== undefined && { provider }) })
        .dedupe;
    expect(dedupe()).toMatchObject({ sources: [], withoutId: "Signature" });
    expect(dedupe("dropbox")).toMatchObject({ sources: [], withoutId: "None" });
    expect(dedupe("stripe")).toMatchObject({ sources: [{ pointer: "/id" }], withoutId: "Signature" });
    expect(dedupe("mailgun")).toMatchObject({ bodyExcept: ["/signature"] });
    expect(dedupe("paystack")).toMatchObject({ idWithBody: true });
  });

  const route = (more: Partial<IngestSettings>) =>
    serverRoute(resolveQueue({}), { secret: "a secret of a test", ...more });

  test("has the URL and the parameters that the provider needs", () => {
    const publicUrl = "https://hooks.example/in?tenant=1";
    expect(route({ provider: "twilio", publicUrl, parameters: { algorithm: "sha256" } })).toMatchObject({
      publicUrl,
      parameters: { algorithm: "sha256" },
    });
    expect(route({ provider: "paypal", parameters: { webhookId: "WH1" } }).parameters).toEqual({ webhookId: "WH1" });
    expect(route({ publicUrl }).publicUrl).toBe(publicUrl);
    expect(route({})).toMatchObject({ publicUrl: "", parameters: {} });
  });

  test.each([
    ["publicUrl is needed: Twilio", { provider: "twilio" }],
    ["publicUrl must be", { publicUrl: "hooks.example/in" }],
    ["publicUrl must be", { publicUrl: "https://hooks.example/in#a" }],
    ["publicUrl must be", { publicUrl: `https://hooks.example/${"a".repeat(2_048)}` }],
    ["parameters go with a provider", { parameters: { a: "b" } }],
    ["verification.parameters.webhookId is missing", { provider: "paypal" }],
    [
      "verification.parameters.algorithm: use one of",
      { provider: "twilio", publicUrl: "https://a.b/", parameters: { algorithm: "md5" } },
    ],
    ["has no such parameter", { provider: "stripe", parameters: { constructor: "1" } }],
  ] satisfies readonly (readonly [string, Partial<IngestSettings>])[])("says %s", (message, more) => {
    expect(() => route(more)).toThrow(TypeError);
    expect(() => route(more)).toThrow(message);
  });

  test("answers as the provider demands", () => {
    const url = "https://hooks.example/in";
    const statuses = [undefined, "github", "twitch", "trello"].map(
      (provider) => route({ ...(provider !== undefined && { provider }), publicUrl: url }).response.status,
    );
    expect(statuses).toEqual([202, 202, 204, 200]);
  });
});
