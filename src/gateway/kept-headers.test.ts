import { describe, expect, it } from "vitest";
import type { DedupeSource } from "../verification/presets/preset.ts";
import { compileKeptHeaders, keepsProviderId, keepsSignature, keptHeaders } from "./kept-headers.ts";
import { destinationEntry, routeEntry } from "./testing.ts";

const keep = (forwardHeaders: readonly string[], headers: Record<string, string | string[]>, path = "/push") => {
  const entry = routeEntry({ destinations: [destinationEntry("orders", { forwardHeaders })] });
  return keptHeaders(compileKeptHeaders(entry, [], ["x-signature"]), headers, path);
};

describe("the signature", () => {
  it("is kept with events that a handler gets, and with no others", () => {
    const handler = destinationEntry("handler", { target: { type: "handler" } });
    expect(keepsSignature(routeEntry({ destinations: [handler] }))).toBe(true);
    expect(keepsSignature(routeEntry())).toBe(false);
  });
});

describe("the headers kept with an event", () => {
  it("are the content type and those that are forwarded", () => {
    const headers = { "content-type": "application/json", "x-event": "made", "x-other": "no" };
    expect(keep(["X-Event"], headers)).toEqual({ "content-type": "application/json", "x-event": "made" });
  });

  it("are never signatures, credentials or hop-by-hop fields, whatever a manifest says", () => {
    const headers = {
      "x-signature": "s",
      authorization: "a",
      cookie: "c",
      connection: "x-hop",
      "x-hop": "h",
      "davit-signature": "of the sender's own making",
      "davit-provider-id": "likewise",
      "davit-cleanup-run": "likewise",
      "x-ok": "o",
    };
    expect(keep(["*"], headers)).toEqual({ "x-ok": "o" });
  });

  it("are not those in which a proxy wrote the URL down, when a token may stand in it", () => {
    const headers = {
      referer: "https://hooks.example.com/push?token=hush",
      "x-original-url": "/push?token=hush",
      "x-forwarded-uri": "/push",
      "x-ok": "why?",
    };
    const kept = { "x-forwarded-uri": "/push", "x-ok": "why?" };
    expect(keep(["*"], headers, "/push?token=hush")).toEqual(kept);
    expect(keep(Object.keys(headers), headers, "/push?token=hush")).toEqual(kept);
    expect(keep(["*"], headers, "/push?")).toEqual(headers);
    expect(keep(["*"], headers)).toEqual(headers);
  });

  it("are only those that were sent: a name that every object has is not taken from the object", () => {
    expect(keep(["constructor", "toString", "x-ok"], { "x-ok": "o" })).toEqual({ "x-ok": "o" });
    const sent = keep(["*"], JSON.parse('{"__proto__": "p", "x-ok": "o"}') as Record<string, string>);
    expect(Object.entries(sent)).toEqual([["x-ok", "o"]]);
  });
});

describe("the id of a delivery", () => {
  const header = (name: string, signed: boolean): DedupeSource => ({ from: "header", name, signed });
  const json = (pointer: string, signed: boolean): DedupeSource => ({ from: "json", pointer, signed });
  it.each([
    ["is found by its mark when it is signed", [json("/id", true)], false],
    ["is kept when it is not signed", [json("/id", false)], true],
    ["is kept when it has several parts", [json("/id", true), json("/kind", true)], true],
    ["need not be kept when a header that is kept has it", [header("X-Shown", false), json("/kind", true)], false],
    ["is kept when no header that is kept has it", [header("X-Hidden", false)], true],
    ["is kept when its header may not be", [header("X-Signature", false)], true],
    ["cannot be kept where there is none", [], false],
  ])("%s", (_case, sources, kept) => {
    const entry = routeEntry({ dedupe: { ...routeEntry().dedupe, sources } });
    expect(keepsProviderId(entry, compileKeptHeaders(entry, ["x-shown"], ["x-signature"]))).toBe(kept);
  });
});
