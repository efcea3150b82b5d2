import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NOW, outcome } from "./presets/testing.ts";
import type { HmacConfig } from "./config.ts";
import { keysOf, plainRequest } from "./vectors.ts";
import { presetOf, verifierOf } from "./verifier.ts";

// One signed text, cut into headers and body in another place: whoever saw a delivery could send it, and what he chose of the first body would be the second.

describe("bytes of the body that are moved into the id", () => {
  it("are refused by Twitch", () => {
    const time = new Date(NOW).toISOString();
    const id = "befa7b53-d79d-478f-86b9-120f112b044e";
    const body = `{"subscription":{"type":"channel.follow"},"event":{"followed_at":"${time}","broadcaster":"x"}}`;
    const headers = (messageId: string) => ({
      "twitch-eventsub-message-id": messageId,
      "twitch-eventsub-message-timestamp": time,
      "twitch-eventsub-message-signature": `sha256=${createHmac("sha256", "key").update(`${id}${time}${body}`).digest("hex")}`,
    });
    const keys = { keys: ["key"] };
    expect(outcome("twitch", { headers: headers(id), body }, keys)).toBe("accepted");
    const at = body.indexOf(time);
    const cut = { headers: headers(id + time + body.slice(0, at)), body: body.slice(at + time.length) };
    expect(outcome("twitch", cut, keys)).toBe("SignatureMalformed");
    expect(presetOf("twitch").payload.format).toBe("JSON");
  });

  it.each(["standard-webhooks", "svix", "bigcommerce"])("are refused by %s", (provider) => {
    const raw = Buffer.from("0123456789abcdef0123456789abcdef");
    const isText = provider === "bigcommerce";
    const time = String(NOW / 1_000);
    const body = `{"type":"comment","text":"hi .${time}.{"}`;
    const mac = createHmac("sha256", isText ? raw.toString() : raw).update(`msg_1.${time}.${body}`);
    const signature = `v1,${mac.digest("base64")}`;
    const headers = (id: string) => ({ "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signature });
    const keys = { keys: [isText ? raw.toString() : `whsec_${raw.toString("base64")}`] };
    expect(outcome(provider, { headers: headers("msg_1"), body }, keys)).toBe("accepted");
    const at = body.indexOf(`.${time}.`);
    const cut = { headers: headers(`msg_1.${time}.${body.slice(0, at)}`), body: body.slice(at + time.length + 2) };
    expect(outcome(provider, cut, keys)).toBe("SignatureMalformed");
  });

  it("are refused where a manifest says what is signed, in an id as in any header", () => {
    const scheme: HmacConfig = {
      type: "hmac",
      header: "x-signature",
      algorithm: "sha256",
      encoding: "hex",
      prefix: "",
      signedContent: "{header:X-Team}/{id}.{body}",
      idHeader: "x-id",
    };
    const signature = createHmac("sha256", "key").update("a/b/c.{}.{}").digest("hex");
    const judge = (team: string, id: string, body: string) => {
      const headers = { "x-signature": signature, "x-team": team, "x-id": id };
      const request = plainRequest({ method: "POST", url: "", path: "/", headers, body: Buffer.from(body) });
      const verdict = verifierOf(scheme).verify(request, keysOf(["key"]), NOW);
      return verdict.ok ? verdict.deliveryId : verdict.detail;
    };
    expect(judge("a", "b/c", "{}.{}")).toMatch(/header x-id has a character/);
    expect(judge("a/b", "c", "{}.{}")).toMatch(/header x-team has a character/);
    expect(judge("a", "b/c.{}", "{}")).toMatch(/header x-id has a character/);
  });
});
