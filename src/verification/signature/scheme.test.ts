import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { HmacConfig, PrefixHashConfig, SchemeConfig, VerifierOptions } from "../config.ts";
import { refuse } from "../refusal.ts";
import { signedRequest } from "../testing.ts";
import type { SignInput, Verdict, VerificationKey } from "../types.ts";
import { keysOf, plainRequest } from "../vectors.ts";
import { verifierOf } from "../verifier.ts";

const NOW = 1_760_000_000_000;
const SECRET = "a-secret";
const KEYS = keysOf([SECRET]);
const INPUT: SignInput = {
  method: "POST",
  url: "https://hooks.example/in",
  path: "/in",
  body: Buffer.from('{"id":"evt_1","at":1760000000000}'),
  id: "msg_1",
};

const PLAIN: HmacConfig = {
  type: "hmac",
  header: "X-Signature",
  algorithm: "sha256",
  encoding: "hex",
  prefix: "",
  signedContent: "{body}",
};

function hmac(content: string | Buffer, key: string | Buffer = SECRET): string {
  return createHmac("sha256", key).update(content).digest("hex");
}

interface Sent {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer;
  readonly keys?: readonly VerificationKey[];
  readonly now?: number;
  readonly options?: VerifierOptions;
}

function judge(scheme: SchemeConfig, { headers, body = INPUT.body, keys = KEYS, now = NOW, options }: Sent): Verdict {
  return verifierOf(scheme, options).verify(plainRequest({ ...INPUT, body, headers }), keys, now);
}

function answer(scheme: SchemeConfig, sent: Sent): string {
  const verdict = judge(scheme, sent);
  return verdict.ok ? "ok" : `${verdict.status} ${verdict.reason}`;
}

/** What comes of what the scheme itself sends, perhaps changed on the way. */
function roundTrip(
  scheme: SchemeConfig,
  change: Partial<SignInput> = {},
  keys: readonly VerificationKey[] = KEYS,
): Verdict {
  const verifier = verifierOf(scheme);
  const request = signedRequest(INPUT, verifier.sign(INPUT, keys, NOW));
  return verifier.verify({ ...request, ...change }, keys, NOW);
}

describe("a signature in one of several headers", () => {
  const scheme: HmacConfig = { ...PLAIN, otherHeaders: ["X-Signature-2", "X-Signature-3"] };
  const right = hmac(INPUT.body);
  const wrong = "0".repeat(64);

  it.each([
    ["is enough in the first", { "x-signature": right }, "ok"],
    ["is enough in the last", { "x-signature-3": right }, "ok"],
    [
      "is enough beside wrong ones",
      { "x-signature": wrong, "x-signature-2": "nonsense", "x-signature-3": right },
      "ok",
    ],
    ["may stand beside an empty header", { "x-signature": "", "x-signature-2": right }, "ok"],
    ["must be somewhere", {}, "400 HeaderMissing"],
    ["must not be empty everywhere", { "x-signature": "", "x-signature-2": "" }, "400 HeaderMissing"],
    ["must be right", { "x-signature": wrong, "x-signature-2": wrong }, "401 SignatureMismatch"],
    ["must not be sent twice in one", { "x-signature-2": [right, right] }, "401 SignatureMalformed"],
    [
      "does not excuse another sent twice",
      { "x-signature": right, "x-signature-2": [wrong, wrong] },
      "401 SignatureMalformed",
    ],
  ])("%s", (_name, headers, expected) => {
    expect(answer(scheme, { headers })).toBe(expected);
  });

  it("names all of them as secret", () => {
    expect(verifierOf(scheme).secretHeaders).toEqual(["x-signature", "x-signature-2", "x-signature-3"]);
  });
});

describe("a list of signatures", () => {
  const scheme: HmacConfig = { ...PLAIN, prefix: "v1=", separator: "," };
  const right = `v1=${hmac(INPUT.body)}`;
  const wrong = `v1=${"0".repeat(64)}`;

  it.each([
    ["may hold versions nobody knows", `v0=abc,${right},v9=${"f".repeat(64)}`, "ok"],
    ["may end in a separator", `${right},`, "ok"],
    ["may hold the right one last", `${wrong},${wrong},${right}`, "ok"],
    ["must hold one of this version", `v2=${hmac(INPUT.body)}`, "401 SignatureMalformed"],
    ["must hold a right one", `${wrong},${wrong}`, "401 SignatureMismatch"],
    ["is not cleaned of blanks", `${wrong}, ${right}`, "401 SignatureMismatch"],
    ["may hold 20", `${`${wrong},`.repeat(19)}${right}`, "ok"],
    ["may not hold 21", `${`${wrong},`.repeat(20)}${right}`, "401 SignatureMalformed"],
  ])("%s", (_name, header, expected) => {
    expect(answer(scheme, { headers: { "x-signature": header } })).toBe(expected);
  });

  it("may have one prefix before the whole list", () => {
    const once: HmacConfig = { ...scheme, prefix: "v0=", prefixOnce: true };
    const bare = hmac(INPUT.body);
    const zeros = "0".repeat(64);
    const answers = [`v0=${bare}`, `v0=${zeros},${bare}`, `t=5,v0=${zeros},${bare}`, bare, `${bare},v0=${zeros}`].map(
      (header) => answer(once, { headers: { "x-signature": header } }),
    );
    expect(answers).toEqual(["ok", "ok", "ok", "401 SignatureMalformed", "401 SignatureMismatch"]);
  });
});

describe("the form of a signature", () => {
  const right = hmac(INPUT.body);
  it.each([
    ["is not too short", right.slice(1), "401 SignatureMalformed"],
    ["is not too long", `${right}0`, "401 SignatureMalformed"],
    ["has no blank before it", ` ${right}`, "401 SignatureMalformed"],
    ["has no blank in place of a digit", `${right.slice(1)} `, "401 SignatureMalformed"],
    ["has no text that is no hex", "g".repeat(64), "401 SignatureMalformed"],
    ["has no text beyond latin1", "ſ".repeat(64), "401 SignatureMalformed"],
    ["may be in upper case", right.toUpperCase(), "ok"],
  ])("%s", (_name, header, expected) => {
    expect(answer(PLAIN, { headers: { "x-signature": header } })).toBe(expected);
  });

  it("is lower case where that is said", () => {
    expect(answer({ ...PLAIN, hexCase: "lower" }, { headers: { "x-signature": right.toUpperCase() } })).toBe(
      "401 SignatureMalformed",
    );
  });

  it.each([
    ["base64", "base64", "ok", "401 SignatureMalformed"],
    ["base64url", "base64url", "ok", "ok"],
  ] as const)("in %s is padded as it should be", (_name, encoding, padded, bare) => {
    const digest = createHmac("sha256", SECRET).update(INPUT.body).digest(encoding).replace(/=$/, "");
    const of = (text: string) => answer({ ...PLAIN, encoding }, { headers: { "x-signature": text } });
    expect([of(`${digest}=`), of(digest), of(`${digest}==`)]).toEqual([padded, bare, "401 SignatureMalformed"]);
  });

  it.each(["md5", "sha1", "sha384", "sha512"] as const)("by %s has its own length", (algorithm) => {
    expect(roundTrip({ ...PLAIN, algorithm })).toMatchObject({ ok: true });
    expect(answer({ ...PLAIN, algorithm }, { headers: { "x-signature": right } })).toBe("401 SignatureMalformed");
  });
});

describe("a timestamp in the signed body", () => {
  const scheme: HmacConfig = { ...PLAIN, timestamp: { json: "/data/at", unit: "milliseconds" } };
  const at = (text: string, now = NOW) => {
    const body = Buffer.from(`{"data":{"at":${text}}}`);
    return answer(scheme, { headers: { "x-signature": hmac(body) }, body, now });
  };

  it.each([
    ["1760000000000", "ok"],
    ['"1760000000000"', "ok"],
    ["1760000000000.5", "400 TimestampMalformed"],
    ["-1760000000000", "400 TimestampMalformed"],
    ['"1760000000000 "', "400 TimestampMalformed"],
    ['"1.76e12"', "400 TimestampMalformed"],
    ["null", "400 TimestampMalformed"],
    ["[1760000000000]", "400 TimestampMalformed"],
    ["1759999699999", "401 TimestampExpired"],
    ["1760000300001", "401 TimestampInFuture"],
  ])("%s: %s", (text, expected) => {
    expect(at(text)).toBe(expected);
  });

  it("is not looked at before the signature has matched", () => {
    const sent = { headers: { "x-signature": "0".repeat(64) }, body: Buffer.from("no JSON") };
    expect(answer(scheme, sent)).toBe("401 SignatureMismatch");
    expect(answer(scheme, { ...sent, headers: { "x-signature": hmac(sent.body) } })).toBe("400 TimestampMalformed");
  });

  it("is not taken from a prototype", () => {
    const odd: HmacConfig = { ...PLAIN, timestamp: { json: "/constructor/length", unit: "milliseconds" } };
    expect(answer(odd, { headers: { "x-signature": hmac(INPUT.body) } })).toBe("400 TimestampMalformed");
  });

  it("is written into the body by who signs, and reported", () => {
    const top: HmacConfig = { ...PLAIN, timestamp: { json: "/at", unit: "seconds" } };
    const { body, headers } = verifierOf(top).sign(INPUT, KEYS, NOW);
    expect(body?.toString()).toBe('{"id":"evt_1","at":1760000000}');
    expect(judge(top, { headers, body: body ?? INPUT.body })).toMatchObject({ ok: true, signedAt: NOW });
    const text = { ...INPUT, body: Buffer.from("text") };
    expect(() => verifierOf(top).sign(text, KEYS, NOW)).toThrowError(expect.objectContaining({ code: "CannotSign" }));
  });
});

describe("a tolerance of 0", () => {
  const scheme: HmacConfig = {
    ...PLAIN,
    signedContent: "{timestamp}.{body}",
    timestamp: { header: "x-at", unit: "seconds" },
  };
  const options = { toleranceMs: 0 };
  const at = (text: string) =>
    answer(scheme, {
      headers: { "x-at": text, "x-signature": hmac(`${text}.${INPUT.body.toString()}`) },
      options,
    });

  it("takes any time, past and future, as long as it is one", () => {
    expect(["1", "1760000000", "9999999999", "1e9", "", "12a"].map(at)).toEqual([
      "ok",
      "ok",
      "ok",
      "400 TimestampMalformed",
      "400 HeaderMissing",
      "400 TimestampMalformed",
    ]);
  });
});

describe("the name of a key", () => {
  const scheme: HmacConfig = { ...PLAIN, keyIdHeader: "X-Key" };
  const keys: readonly VerificationKey[] = keysOf([SECRET, "another"]).map((key, at) => ({ ...key, keyId: `k${at}` }));
  it.each([
    ["k0", "ok"],
    ["k1", "401 SignatureMismatch"],
    ["k9", "ok"],
    ["", "ok"],
    [["k0", "k0"], "401 SignatureMalformed"],
  ])("%j: %s", (name, expected) => {
    expect(answer(scheme, { headers: { "x-key": name, "x-signature": hmac(INPUT.body) }, keys })).toBe(expected);
  });
});

describe("content that a function names", () => {
  const scheme = (contents: number): HmacConfig => ({
    ...PLAIN,
    separator: ",",
    prefix: "v1=",
    timestamp: { param: "t", unit: "seconds" },
    idHeader: "x-id",
    signedContent: {
      description: "h, timestamp, id, body",
      headers: ["x-id"],
      contents: ({ body }, { timestamp, id, param }) =>
        param("h") === "none"
          ? refuse("SignatureMalformed", "h names nothing")
          : Array.from({ length: contents }, (_, at) => [`${at}|${param("h")}|${timestamp}|${id}|`, body]),
    },
  });
  const send = (at: number, h: string, contents = 4) => {
    const content = `${at}|${h === "" ? "undefined" : h}|1760000000|msg_1|${INPUT.body.toString()}`;
    const header = `t=1760000000${h === "" ? "" : `,h=${h}`},v1=${hmac(content)}`;
    return judge(scheme(contents), { headers: { "x-signature": header, "x-id": "msg_1" } });
  };

  it("gets timestamp, id and parameters of the signature header", () => {
    expect(send(0, "a b")).toMatchObject({ ok: true, signedAt: NOW, deliveryId: "msg_1" });
    expect(send(0, "")).toMatchObject({ ok: true });
  });

  it("may be one of up to four", () => {
    expect([0, 1, 2, 3].map((at) => send(at, "x").ok)).toEqual([true, true, true, true]);
    expect(send(4, "x", 9)).toMatchObject({ ok: false, reason: "SignatureMismatch" });
  });

  it("may be refused by the function, and needs its id", () => {
    expect(send(0, "none")).toMatchObject({ ok: false, reason: "SignatureMalformed" });
    expect(answer(scheme(1), { headers: { "x-signature": `t=1760000000,v1=${"0".repeat(64)}` } })).toBe(
      "400 HeaderMissing",
    );
  });

  it("takes a parameter that is there twice for none", () => {
    const content = `0|undefined|1760000000|msg_1|${INPUT.body.toString()}`;
    const header = `t=1760000000,h=a,h=b,v1=${hmac(content)}`;
    expect(answer(scheme(1), { headers: { "x-signature": header, "x-id": "msg_1" } })).toBe("ok");
  });

  it("is signed in its first form", () => {
    expect(roundTrip(scheme(3))).toMatchObject({ ok: true, deliveryId: "msg_1" });
    expect(() => verifierOf(scheme(0)).sign(INPUT, KEYS, NOW)).toThrowError(
      expect.objectContaining({ code: "CannotSign" }),
    );
  });
});

describe("pieces of signed content that touch", () => {
  const scheme: HmacConfig = { ...PLAIN, idHeader: "x-id", signedContent: "{id}{body}" };

  it("make no id that can be believed: its end can be moved", () => {
    const signed = (id: string, body: string) =>
      judge(scheme, { headers: { "x-id": id, "x-signature": hmac("abc") }, body: Buffer.from(body) });
    const [first, second] = [signed("ab", "c"), signed("a", "bc")];
    expect([first.ok, second.ok]).toEqual([true, true]);
    expect([first, second].map((verdict) => verdict.ok && verdict.deliveryId)).toEqual([undefined, undefined]);
    expect(verifierOf(scheme).signedIdHeader).toBeUndefined();
  });

  it("may be told apart by text, or by a timestamp, whose length is then fixed", () => {
    expect(verifierOf({ ...scheme, signedContent: "{id}.{body}" }).signedIdHeader).toBe("x-id");
    const timed: HmacConfig = {
      ...scheme,
      signedContent: "{id}{timestamp}{body}",
      timestamp: { header: "x-at", unit: "seconds" },
    };
    expect(roundTrip(timed)).toMatchObject({ ok: true, deliveryId: "msg_1" });
    const shifted = { "x-id": "msg_", "x-at": "11760000000", "x-signature": hmac("msg_11760000000{}") };
    const options = { toleranceMs: 0 };
    expect(answer(timed, { headers: shifted, body: Buffer.from("{}"), options })).toBe("400 TimestampMalformed");
  });
});

describe("a secret", () => {
  const bytes = Buffer.from("00ff10a0b7c3", "hex");
  const headers = { "x-signature": hmac(INPUT.body, bytes) };
  it.each([
    ["hex", "00ff10a0b7c3", "ok"],
    ["hex", "00FF10A0B7C3", "ok"],
    ["hex", "00ff10a0b7c", "503 NoUsableKey"],
    ["hex", "00ff10a0b7c3zz", "503 NoUsableKey"],
    ["hex", "0x00ff10a0b7c3", "503 NoUsableKey"],
    ["base64", bytes.toString("base64"), "ok"],
    ["base64", "not base64", "503 NoUsableKey"],
    ["base64", "=", "503 NoUsableKey"],
    ["raw", "00ff10a0b7c3", "401 SignatureMismatch"],
  ] as const)("in %s: %j gives %s", (secretEncoding, secret, expected) => {
    expect(answer({ ...PLAIN, secretEncoding }, { headers, keys: keysOf([secret]) })).toBe(expected);
  });

  it("that cannot be decoded does not stand in the way of one that can", () => {
    const keys = keysOf(["zz", "00ff10a0b7c3"]);
    expect(judge({ ...PLAIN, secretEncoding: "hex" }, { headers, keys })).toMatchObject({ key: { id: "00000001" } });
  });
});

describe("a hash over secret and content", () => {
  const scheme: PrefixHashConfig = {
    ...PLAIN,
    type: "prefix-hash",
    algorithm: "sha256",
    signedContent: "{method}{url}{body}",
  };

  it("is the plain hash of both", () => {
    const content = `${SECRET}POST${INPUT.url}${INPUT.body.toString()}`;
    const headers = { "x-signature": createHash("sha256").update(content).digest("hex") };
    expect(answer(scheme, { headers })).toBe("ok");
    expect(answer(scheme, { headers, keys: keysOf(["another"]) })).toBe("401 SignatureMismatch");
  });

  it("is what the scheme sends", () => {
    expect(roundTrip(scheme)).toMatchObject({ ok: true });
    expect(roundTrip(scheme, { body: Buffer.from("{}") })).toMatchObject({ ok: false });
  });
});
