import { describe, expect, it, vi } from "vitest";
import { routeEntry } from "./testing.ts";
import { sha256Parts } from "../lib/hash.ts";
import type { DedupeSource } from "../verification/presets/preset.ts";
import type { Verdict } from "../verification/types.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { providerIdHash } from "../routes/delivery-id.ts";
import { claimedIdHash, compileDedupe, identify, type Identity } from "./dedupe-mark.ts";
import { RequestView } from "./request-view.ts";

const ROUTE = "0123456789abcdef";
const header = (name: string, signed = true): DedupeSource => ({ from: "header", name, signed });

function identityOf(
  sources: readonly DedupeSource[],
  { rawHeaders = [], body = "{}", verdict = {} }: { rawHeaders?: string[]; body?: string; verdict?: Partial<Verdict> },
  dedupe: Partial<RouteEntry["dedupe"]> = {},
): Identity {
  const entry = routeEntry({ dedupe: { ...routeEntry().dedupe, sources, ...dedupe } });
  const view = new RequestView({ method: "POST", rawHeaders }, "/", "");
  view.body = Buffer.from(body);
  const ok = { ok: true, key: undefined, ...verdict } as Extract<Verdict, { ok: true }>;
  return identify(compileDedupe(entry, undefined), { view, verdict: ok });
}

function keyOf(identity: Identity): string {
  return identity.type === "mark" ? identity.mark.key.toString("hex") : identity.type;
}

describe("a delivery's identity", () => {
  it("is 16 bytes of SHA-256 over the length-prefixed route, source and id", () => {
    const identity = identityOf([header("X-Id")], { rawHeaders: ["X-ID", "é1"] });
    const key = sha256Parts([ROUTE, "header:x-id", "é1"]).subarray(0, 16);
    expect(identity).toEqual({ type: "mark", mark: { key, weak: false }, id: "é1" });
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

  it("is bound to the body without what differs between attempts", () => {
    const sources: DedupeSource[] = [{ from: "json", pointer: "/event-data/id", signed: false }];
    const identity = (token: string, event: object) =>
      identityOf(
        sources,
        { body: JSON.stringify({ signature: { token }, "event-data": event }) },
        { bodyExcept: ["/signature"] },
      );
    expect(identity("t1", { id: "e" })).toEqual(identity("t2", { id: "e" }));
    expect(identity("t1", { id: "e" })).not.toEqual(identity("t1", { id: "e", event: "opened" }));
  });

  it("is bound to the body where the id is that of a thing with several events", () => {
    const sources: DedupeSource[] = [{ from: "json", pointer: "/id", signed: true }];
    const bodies = ['{"id":1,"status":"a"}', '{"id":1,"status":"b"}'];
    const [one, other] = bodies.map((body) => identityOf(sources, { body }, { idWithBody: true }));
    expect(one).not.toEqual(other);
    const [plain, same] = bodies.map((body) => identityOf(sources, { body }));
    expect(plain).toEqual(same);
  });

  it("is the signature alone where the whole body is left out", () => {
    const verdict = { ok: true, key: undefined, signature: "ab" } as const;
    const [one, other] = ["{}", '{"x":1}'].map((body) => identityOf([], { body, verdict }, { bodyExcept: [""] }));
    expect(one).toMatchObject({ type: "mark", mark: { weak: true } });
    expect(other).toEqual(one);
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
    expect(identityOf([], { verdict: { ok: true, key: undefined, signature: "ab" } }, { disabled: true })).toEqual({
      type: "none",
    });
  });
});

const json = (pointer: string, changes: { readonly optional?: boolean } = {}): DedupeSource => ({
  from: "json",
  pointer,
  signed: true,
  ...changes,
});
const form = (name: string, changes: { readonly optional?: boolean } = {}): DedupeSource => ({
  from: "form",
  name,
  signed: true,
  ...changes,
});
const FORM = ["content-type", "application/x-www-form-urlencoded; charset=utf-8"];
const posted = (body: string) => ({ rawHeaders: FORM, body });

describe("a part in a list", () => {
  it("counts when the list holds one element", () => {
    const one = identityOf([json("/events/0/id")], { body: '{"events":[{"id":"a"}]}' });
    expect(one).toMatchObject({ type: "mark", id: "a" });
    expect(identityOf([json("/0/id")], { body: '[{"id":7}]' })).toMatchObject({ id: "7" });
  });

  it.each(['[{"id":"a"},{"id":"b"}]', '[{"id":"a"},{"id":"a"}]', "[]", '[[{"id":"a"}]]', '{"0":{"di":"a"}}'])(
    "is missing in %s",
    (body) => {
      expect(identityOf([json("/0/id")], { body })).toEqual({ type: "missing", part: "json:/0/id" });
    },
  );

  it("is missing when one is optional and several are there: they would become one event", () => {
    const sources = [json("/0/id", { optional: true }), json("/kind")];
    expect(identityOf(sources, { body: '[{"id":"a"},{"id":"b"}]' }).type).toBe("missing");
  });

  it("is never its length", () => {
    expect(identityOf([json("/length")], { body: '["a","b"]' }).type).toBe("missing");
  });
});

describe("a part in a form", () => {
  it("is a field that was sent once", () => {
    expect(identityOf([form("MessageSid")], posted("MessageSid=SM1&Body=hi+there"))).toMatchObject({ id: "SM1" });
    expect(identityOf([form("Body")], posted("Body=hi+there%21"))).toMatchObject({ id: "hi there!" });
  });

  it.each([
    ["was sent twice", posted("Id=1&Id=1")],
    ["is empty", posted("Id=")],
    ["has another case", posted("id=1")],
    ["stands in a body that is no form", { rawHeaders: ["content-type", "text/plain"], body: "Id=1" }],
    ["stands in a body of two types", { rawHeaders: [...FORM, ...FORM], body: "Id=1" }],
  ])("is missing when it %s", (_case, request) => {
    expect(identityOf([form("Id")], request)).toEqual({ type: "missing", part: "form:Id" });
  });
});

describe("an optional part", () => {
  const sources = [header("x-id"), { ...header("x-attempt"), optional: true }];
  const keyWith = (...rawHeaders: string[]) => keyOf(identityOf(sources, { rawHeaders: ["x-id", "1", ...rawHeaders] }));

  it("tells deliveries apart when it is there, and is left out when it is not", () => {
    const keys = [keyWith(), keyWith("x-attempt", ""), keyWith("x-attempt", "1"), keyWith("x-attempt", "2")];
    expect(new Set(keys).size).toBe(4);
    expect(keyWith()).toBe(keyOf(identityOf([header("x-id")], { rawHeaders: ["x-id", "1"] })));
  });

  it("does not change places with another one that is missing", () => {
    const both = [
      { ...header("x-a"), optional: true },
      { ...header("x-b"), optional: true },
    ];
    const [a, b] = ["x-a", "x-b"].map((name) => keyOf(identityOf(both, { rawHeaders: [name, "1"] })));
    expect(a).not.toBe(b);
  });

  it("that was sent twice leaves the delivery without an id", () => {
    expect(keyWith("x-attempt", "1", "x-attempt", "1")).toBe("missing");
  });

  it("is not enough when every part is missing or empty", () => {
    const only = [{ ...header("x-a"), optional: true }];
    expect(identityOf(only, { rawHeaders: [] }).type).toBe("missing");
    expect(identityOf(only, { rawHeaders: ["x-a", ""] }).type).toBe("missing");
  });
});

describe("a delivery without its id", () => {
  const verdict = { ok: true, key: undefined, signature: "ab" } as const;
  const without = (withoutId: RouteEntry["dedupe"]["withoutId"], body = "{}", signature = "ab") =>
    identityOf([header("x-id")], { body, verdict: { ...verdict, signature } }, { ...(withoutId && { withoutId }) });

  it("is refused when the id was demanded, or the entry is of an older controller", () => {
    expect(without("Refuse")).toEqual({ type: "missing", part: "header:x-id" });
    expect(without(undefined)).toEqual({ type: "missing", part: "header:x-id" });
  });

  it("is told by signature and body, under a weak mark", () => {
    expect(without("Signature")).toMatchObject({ type: "mark", mark: { weak: true } });
    expect(without("Signature")).toEqual(without("Signature"));
    expect(without("Signature", "{}", "cd")).not.toEqual(without("Signature"));
    expect(without("Signature", "[]")).not.toEqual(without("Signature"));
  });

  it("is told by its body alone where each attempt is signed anew, under a weak mark", () => {
    expect(without("Body")).toMatchObject({ type: "mark", mark: { weak: true } });
    expect(without("Body", "{}", "cd")).toEqual(without("Body"));
    expect(without("Body", "[]")).not.toEqual(without("Body"));
    expect(without("Body")).not.toEqual(without("Signature"));
  });

  it("is an event of its own where equal bodies are different events", () => {
    expect(without("None")).toEqual({ type: "none" });
  });

  it("has the same choice where the provider gives no id at all", () => {
    const none = identityOf([], { verdict }, { withoutId: "None" });
    const body = identityOf([], { verdict }, { withoutId: "Body" });
    expect([none.type, body]).toEqual(["none", without("Body")]);
  });
});

describe("the id that a refused request claims", () => {
  const hashOf = (sources: readonly DedupeSource[], rawHeaders: string[], body = "{}", signedIdHeader?: string) => {
    const view = new RequestView({ method: "POST", rawHeaders }, "/", "");
    view.body = Buffer.from(body);
    const entry = routeEntry({ dedupe: { ...routeEntry().dedupe, sources } });
    return claimedIdHash(compileDedupe(entry, signedIdHeader), view);
  };

  it("is hashed, as far as it can be read", () => {
    expect(hashOf([header("x-id", false)], ["x-id", "d-1"])).toBe(providerIdHash("d-1"));
    expect(hashOf([json("/id")], [], '{"id":"evt_1"}')).toBe(providerIdHash("evt_1"));
    expect(hashOf([json("/id")], [], "no JSON")).toBeUndefined();
    expect(hashOf([], [])).toBeUndefined();
  });

  it("is the part that must be there", () => {
    const sources = [{ ...header("x-kind"), optional: true }, header("x-id")];
    expect(hashOf(sources, ["x-kind", "k", "x-id", "1"])).toBe(providerIdHash("1"));
  });

  it("is not looked for in a long body, unless that is parsed already", () => {
    const long = (length: number) => '{"id":"evt_1"}'.padEnd(length);
    expect(hashOf([json("/id")], [], long(32_768))).toBe(providerIdHash("evt_1"));
    expect(hashOf([json("/id")], [], long(32_769))).toBeUndefined();
    expect(hashOf([form("id")], FORM, `x=${"x".repeat(32_768)}&id=1`)).toBeUndefined();
    const view = new RequestView({ method: "POST", rawHeaders: [] }, "/", "");
    view.body = Buffer.from(long(32_769));
    view.json();
    const rules = compileDedupe(routeEntry({ dedupe: { ...routeEntry().dedupe, sources: [json("/id")] } }), undefined);
    expect(claimedIdHash(rules, view)).toBe(providerIdHash("evt_1"));
  });

  it("may stand under either name of Standard Webhooks", () => {
    expect(hashOf([header("webhook-id")], ["svix-id", "msg_1"], "{}", "webhook-id")).toBe(providerIdHash("msg_1"));
  });
});

describe("ids that are numbers a double may round", () => {
  const sources = ["/a", "/b", "/c", "/d", "/e"].map((pointer) => json(pointer));
  const body = '{"a":1.50,"b":9007199254740993,"c":1e3,"d":2.5,"e":0.1}';
  const rejected = () => {
    const view = new RequestView({ method: "POST", rawHeaders: [] }, "/", "");
    view.body = Buffer.from(body);
    return claimedIdHash(compileDedupe(routeEntry({ dedupe: { ...routeEntry().dedupe, sources } }), undefined), view);
  };
  const parses = (step: () => unknown) => {
    const parse = vi.spyOn(JSON, "parse");
    try {
      step();
      return parse.mock.calls.length;
    } finally {
      parse.mockRestore();
    }
  };

  it("cost a verified request one more parse, however many there are, and a refused one none", () => {
    expect(parses(() => identityOf(sources, { body }))).toBe(2);
    expect(parses(rejected)).toBe(1);
  });

  it("are left out of what a refused request claims; integers are not", () => {
    expect(rejected()).toBe(providerIdHash("1000"));
  });

  it("stay apart in a body however deep", () => {
    const deep = (id: string) => `{"id":${id},"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    const marks = ["9007199254740992", "9007199254740993", "1.5"].map((id) =>
      identityOf([json("/id")], { body: deep(id) }),
    );
    expect(marks.map((mark) => mark.type === "mark" && mark.id)).toEqual([
      "9007199254740992",
      "9007199254740993",
      "1.5",
    ]);
    expect(new Set(marks.map(keyOf)).size).toBe(3);
  });
});
