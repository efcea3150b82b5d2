import { describe, expect, it } from "vitest";
import { routeEntry } from "./testing.ts";
import { sha256Parts } from "../lib/hash.ts";
import type { DedupeSource } from "../verification/presets/preset.ts";
import type { Verdict } from "../verification/types.ts";
import { compileDedupe, identify, type Identity } from "./dedupe-mark.ts";
import { LazyJson } from "./payload.ts";
import { RequestView } from "./request-view.ts";

const ROUTE = "0123456789abcdef";
const header = (name: string, signed = true): DedupeSource => ({ from: "header", name, signed });

function identityOf(
  sources: readonly DedupeSource[],
  { rawHeaders = [], body = "{}", verdict = {} }: { rawHeaders?: string[]; body?: string; verdict?: Partial<Verdict> },
  disabled = false,
): Identity {
  const entry = routeEntry({ dedupe: { ...routeEntry().dedupe, sources, disabled } });
  const view = new RequestView({ method: "POST", rawHeaders }, "/", "");
  view.body = Buffer.from(body);
  const ok = { ok: true, key: undefined, ...verdict } as Extract<Verdict, { ok: true }>;
  return identify(compileDedupe(entry, undefined), { view, json: new LazyJson(view.body), verdict: ok });
}

function keyOf(identity: Identity): string {
  return identity.type === "mark" ? identity.mark.key.toString("hex") : identity.type;
}

describe("a delivery's identity", () => {
  it("is 16 bytes of SHA-256 over the length-prefixed route, source and id", () => {
    const identity = identityOf([header("X-Id")], { rawHeaders: ["X-ID", "é1"] });
    const key = sha256Parts([ROUTE, "header:x-id", "é1"]).subarray(0, 16);
    expect(identity).toEqual({ type: "mark", mark: { key, weak: false } });
  });

  it("does not run its parts together", () => {
    const sources = [header("x-a"), header("x-b")];
    const first = identityOf(sources, { rawHeaders: ["x-a", "ab", "x-b", "c"] });
    const second = identityOf(sources, { rawHeaders: ["x-a", "a", "x-b", "bc"] });
    expect(keyOf(first)).not.toBe(keyOf(second));
  });

  it("carries the body's hash when a part is not signed", () => {
    const identity = identityOf([header("x-id", false)], { rawHeaders: ["x-id", "1"] });
    expect(identity.type === "mark" && identity.mark.bodyHash?.toString("hex")).toBe("44136fa355b3678a");
  });

  it.each([
    ["is missing", []],
    ["is empty", ["x-id", ""]],
    ["was sent twice", ["x-id", "1", "X-Id", "1"]],
  ])("names a part that %s", (_case, rawHeaders) => {
    expect(identityOf([header("x-id")], { rawHeaders })).toEqual({ type: "missing", part: "header:x-id" });
  });

  it("may come from the JSON body", () => {
    const sources: DedupeSource[] = [{ from: "json", pointer: "/id", signed: true }];
    const same = ['{"id":1}', '{"id": 1, "x": 2}', '{"id":"1"}'].map((body) => keyOf(identityOf(sources, { body })));
    expect(new Set(same).size).toBe(1);
    expect(identityOf(sources, { body: "{}" })).toEqual({ type: "missing", part: "json:/id" });
    expect(identityOf(sources, { body: "id=1" })).toEqual({ type: "missing", part: "json:/id" });
  });

  it("is signature and body without sources, and nothing where there is no signature or dedupe is off", () => {
    const weak = identityOf([], { verdict: { ok: true, key: undefined, signature: "ab" } });
    expect(weak).toMatchObject({ type: "mark", mark: { weak: true } });
    const other = identityOf([], { verdict: { ok: true, key: undefined, signature: "ab" }, body: "[]" });
    expect(keyOf(other)).not.toBe(keyOf(weak));
    expect(identityOf([], {})).toEqual({ type: "none" });
    expect(identityOf([], { verdict: { ok: true, key: undefined, signature: "ab" } }, true)).toEqual({ type: "none" });
  });
});
