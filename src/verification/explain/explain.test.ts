import { createHmac, generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Secret } from "../../lib/secret.ts";
import type { CustomConfig, HmacConfig, VerifierConfig } from "../config.ts";
import { refuse } from "../refusal.ts";
import type { VerificationKey, Verdict } from "../types.ts";
import { bindCase, requestOf, type SignatureCase } from "../vectors.ts";
import { createVerifier } from "../verifier.ts";
import { explain } from "./explain.ts";
import { type FindingCode, MESSAGES } from "./finding.ts";
import { MAX_CHECKS, MAX_HASHED_BYTES, Probe } from "./probe.ts";
import type { Question } from "./question.ts";
import type { PlainRequest } from "./variants.ts";

const NOW = 1_760_000_000_000;
const SECRET = "shpss_0123456789abcdef";
const URL_OF_ROUTE = "https://hooks.example.com/in";
const JSON_BODY = '{"b":"ü/<1>","a":[1.0,2],"id":"evt_1"}';

const GITHUB: VerifierConfig = { type: "provider", provider: "github" };
const STRIPE: VerifierConfig = { type: "provider", provider: "stripe" };
const STANDARD: VerifierConfig = { type: "provider", provider: "standard-webhooks" };
const HMAC: HmacConfig = {
  type: "hmac",
  header: "x-signature",
  algorithm: "sha256",
  encoding: "hex",
  hexCase: "lower",
  prefix: "",
  signedContent: "{body}",
};
const BASE64: HmacConfig = { ...HMAC, encoding: "base64" };
const OF_URL: HmacConfig = { ...HMAC, signedContent: "{method}{url}{body}" };
const TIMED: HmacConfig = {
  ...HMAC,
  signedContent: "{timestamp}.{body}",
  timestamp: { header: "x-timestamp", unit: "seconds" },
};

function key(text: string, more: Partial<VerificationKey> = {}): VerificationKey {
  return { id: text.slice(0, 8), state: "current", secret: Secret.of(text), ...more };
}

interface Sent {
  readonly body?: string | Buffer;
  readonly url?: string;
  readonly method?: string;
  readonly at?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request as a sender with this secret makes it. */
function sent(
  config: VerifierConfig,
  used: string,
  { body: text = JSON_BODY, url, at = NOW, method = "POST", headers }: Sent = {},
): PlainRequest {
  const bytes = Buffer.from(text);
  const input = {
    method,
    url: url ?? URL_OF_ROUTE,
    path: "/in",
    body: bytes,
    id: "evt_1",
    ...(headers && { headers }),
  };
  const signed = createVerifier(config).sign(input, [key(used)], at);
  const values = Object.entries({ ...headers, ...signed.headers }).map(([name, value]) => [name, [value]] as const);
  return { method: "POST", url: URL_OF_ROUTE, path: "/in", body: bytes, headers: Object.fromEntries(values) };
}

type Change = Partial<Question> & { readonly received?: Partial<PlainRequest> };

/** What is sent, what arrives, and with which keys it is checked. */
function ask(config: VerifierConfig, request: PlainRequest, { received, ...change }: Change = {}): Question {
  return { config, request: { ...request, ...received }, keys: [key(SECRET)], now: NOW, ...change };
}

/** The body that was signed is another one than arrives. */
function changed(signed: string | Buffer, arrives: string | Buffer): Question {
  return ask(HMAC, sent(HMAC, SECRET, { body: signed }), { received: { body: Buffer.from(arrives) } });
}

/** The secret the sender uses, and the one that is in the Secret. */
function misread(used: string | Buffer, stored: string, config: VerifierConfig = HMAC): Question {
  const text = Buffer.isBuffer(used) ? used.toString("latin1") : used;
  return ask(config, sent(config, text), { keys: [key(stored)] });
}

/** The header arrives changed. */
function header(change: (value: string) => readonly string[], config: HmacConfig = HMAC): Question {
  const request = sent(config, SECRET);
  const value = request.headers["x-signature"]?.[0] ?? "";
  return ask(config, request, { received: { headers: { ...request.headers, "x-signature": change(value) } } });
}

function renamed(config: VerifierConfig, from: string, to: string): Question {
  const request = sent(config, SECRET);
  const { [from]: value = [], ...rest } = request.headers;
  return ask(config, request, { received: { headers: { ...rest, [to]: value } } });
}

const hmac = (algorithm: string, content: string) => createHmac(algorithm, SECRET).update(content).digest("hex");
const simple = (value: string, name = "x-signature"): PlainRequest => ({
  method: "POST",
  url: URL_OF_ROUTE,
  path: "/in",
  body: Buffer.from(JSON_BODY),
  headers: { [name]: [value] },
});

const { publicKey } = generateKeyPairSync("ed25519");

/** A scheme that asks for a certificate before it says what `verdict` says. */
function certified(verdict: Verdict): CustomConfig {
  const needs = {
    kind: "certificate",
    url: "https://certs.example.com/1.pem",
    id: "https://certs.example.com/1.pem",
  } as const;
  return {
    type: "custom",
    description: "",
    covers: { body: true },
    signsTime: false,
    create: () => ({
      secretHeaders: ["x-signature"],
      needs: () => (verdict.ok || verdict.reason === "SignatureMismatch" ? needs : verdict),
      verify: (_request, _keys, _now, material) =>
        material ? verdict : refuse("MaterialUnavailable", "no certificate"),
      sign: () => ({ headers: {} }),
    }),
  };
}

const MISMATCH = refuse("SignatureMismatch", "x-signature does not match");
// A preset alone may be of this kind; here one stands for all of them.
const CERTIFIED = (verdict: Verdict) => certified(verdict) as unknown as VerifierConfig;

/** Box: one key for each of two headers. */
const PAIR = {
  ...certified(MISMATCH),
  create: () => ({
    secretHeaders: ["x-first"],
    verify: (
      request: Parameters<ReturnType<typeof createVerifier>["verify"]>[0],
      keys: readonly VerificationKey[],
    ): Verdict =>
      keys[0]?.secret.equals(Buffer.from(request.header("x-first")[0] ?? "")) ? { ok: true, key: keys[0] } : MISMATCH,
    sign: () => ({ headers: {} }),
  }),
} as unknown as VerifierConfig;

const KEY_HEX = "00112233445566778899aabbccddeeff";

/** For each sentence a request that it explains. */
const GOLDEN: Readonly<Record<FindingCode, Question>> = {
  Valid: ask(GITHUB, sent(GITHUB, SECRET)),
  KeyPrevious: ask(GITHUB, sent(GITHUB, "old"), { otherKeys: [key("old", { state: "previous" })] }),
  KeyNext: ask(GITHUB, sent(GITHUB, "new"), { otherKeys: [key("new", { state: "next" })] }),
  KeyExpired: ask(GITHUB, sent(GITHUB, "old"), { keys: [key(SECRET), key("old", { notAfter: NOW - 60_000 })] }),
  KeyOther: ask(GITHUB, sent(GITHUB, "two"), { keys: [key("one"), key("two")] }),
  KeysSwapped: ask(PAIR, simple("second", "x-first"), { keys: [key("first"), key("second")] }),

  SecretMissing: ask(GITHUB, sent(GITHUB, SECRET), { keys: [] }),
  SecretEmpty: ask(GITHUB, sent(GITHUB, SECRET), { keys: [key(" \n")] }),
  SecretUndecodable: ask(STANDARD, sent(STANDARD, `whsec_${Buffer.from(SECRET).toString("base64")}`), {
    keys: [key("no base64!")],
  }),
  SecretLineEnd: misread(`${SECRET}\n`, SECRET),
  SecretBlanks: misread(SECRET, `${SECRET}\n`),
  SecretQuotes: misread(SECRET, `"${SECRET}"`),
  SecretEnvLine: misread(SECRET, `export HOOK_SECRET='${SECRET}'`),
  SecretBase64: misread(SECRET, Buffer.from(SECRET).toString("base64")),
  SecretNotBase64: misread(`whsec_${Buffer.from(SECRET).toString("base64")}`, SECRET, STANDARD),
  SecretHex: misread("0123456789abcdef", Buffer.from("0123456789abcdef").toString("hex")),
  SecretNotHex: misread(Buffer.from(SECRET).toString("hex"), SECRET),
  SecretPrefix: misread(SECRET, `whsec_${SECRET}`),
  SecretPrefixMissing: misread(`whsec_${SECRET}`, SECRET, STRIPE),

  BodyReencoded: changed(JSON_BODY, JSON.stringify(JSON.parse(JSON_BODY), undefined, 2).replace("1,", "1.0,")),
  BodyLineEndAdded: changed("a", "a\n"),
  BodyLineEndMissing: changed("a\n", "a"),
  BodyCrlf: changed("a\nb", "a\r\nb"),
  BodyLf: changed("a\r\nb", "a\nb"),
  BodyBomAdded: changed("a", "\ufeffa"),
  BodyBomMissing: changed("\ufeffa", "a"),
  BodyUrlEncoded: changed('payload={"a":1}', "payload=%7B%22a%22%3A1%7D"),
  BodyUrlDecoded: changed("payload%3D%7B%7D", "payload={}"),
  BodyGzipped: changed("a", gzipSync("a")),
  BodyGunzipped: changed(gzipSync("a"), "a"),
  BodyBase64: changed("hello", Buffer.from("hello").toString("base64")),
  BodyEmpty: changed("", "{}"),
  BodyMojibake: changed("ü", Buffer.from("ü").toString("latin1")),
  BodyCut: ask(HMAC, sent(HMAC, SECRET, { headers: { "content-length": "38" } }), {
    received: { body: Buffer.from('{"b"') },
  }),

  UrlDiffers: ask(OF_URL, sent(OF_URL, SECRET, { url: "http://hooks.example.com/in/" })),
  MethodDiffers: ask(OF_URL, sent(OF_URL, SECRET, { method: "PUT" })),

  ClockAhead: ask(STRIPE, sent(STRIPE, SECRET, { at: NOW - 412_000 })),
  ClockBehind: ask(STRIPE, sent(STRIPE, SECRET, { at: NOW + 412_000 })),
  TimestampMilliseconds: ask(TIMED, sent(TIMED, SECRET, { at: NOW * 1_000 })),
  TimestampSeconds: ask(
    { ...TIMED, timestamp: { header: "x-timestamp", unit: "milliseconds" } },
    sent({ ...TIMED, timestamp: { header: "x-timestamp", unit: "milliseconds" } }, SECRET, { at: NOW / 1_000 }),
  ),

  HeaderMissing: ask(GITHUB, simple("x", "content-type")),
  HeaderSha1Only: ask(GITHUB, simple(`sha1=${hmac("sha1", JSON_BODY)}`, "x-hub-signature")),
  HeaderVersionOnly: ask(STRIPE, simple("t=1760000000,v0=00ff", "stripe-signature")),
  HeaderRenamed: renamed(HMAC, "x-signature", "http-x-signature"),
  HeaderRepeated: header((value) => ["0".repeat(64), value]),
  HeaderJoined: header((value) => [`${"0".repeat(64)}, ${value}`]),
  SignatureBase64: header((value) => [Buffer.from(value, "hex").toString("base64")]),
  SignatureHex: header((value) => [Buffer.from(value, "base64").toString("hex")], BASE64),
  SignatureUpperCase: header((value) => [value.toUpperCase()]),
  SignatureUnpadded: header((value) => [value.replace("=", "")], BASE64),
  SignaturePrefixMissing: header((value) => [value.slice(7)], { ...HMAC, prefix: "sha256=" }),
  SignaturePrefixExtra: header((value) => [`sha256=${value}`]),
  SignatureBlanks: header((value) => [`"${value}"`]),
  SignatureCut: header((value) => [value.slice(0, 32)]),
  AlgorithmDiffers: ask(HMAC, simple(hmac("sha512", JSON_BODY))),
  ContentDiffers: ask(HMAC, simple(hmac("sha256", URL_OF_ROUTE + JSON_BODY))),

  OtherProvider: ask(STRIPE, sent(GITHUB, SECRET)),
  OtherProviderHeaders: ask(GITHUB, sent(STRIPE, "another")),

  MaterialNeeded: ask(CERTIFIED(MISMATCH), simple("x")),
  MaterialOther: ask(CERTIFIED(MISMATCH), simple("x"), { material: [{ id: "other-kid", publicKey }] }),
  MaterialPeriod: ask(CERTIFIED(MISMATCH), simple("x"), { material: [{ id: "", publicKey, notAfter: NOW - 1 }] }),
  CertificateHost: ask(
    CERTIFIED(refuse("CertificateUntrusted", "the certificate's host is not the provider's")),
    simple("x"),
  ),
  SenderDiffers: ask(CERTIFIED(refuse("SenderMismatch", "TopicArn is another topic's")), simple("x")),

  AsRefused: ask(STRIPE, simple(`t=soon,v1=${"0".repeat(64)}`, "stripe-signature")),
  Unexplained: ask(GITHUB, sent(GITHUB, "quite another secret")),

  IdTaken: ask(STRIPE, sent(STRIPE, SECRET)),
  IdMissing: ask(STRIPE, sent(STRIPE, SECRET, { body: "{}" })),
  IdNone: ask(HMAC, sent(HMAC, SECRET), { dedupe: { sources: [], withoutId: "Signature" } }),
};

const NOTES: readonly FindingCode[] = ["KeyOther", "IdTaken", "IdMissing", "IdNone"];

describe("explain", () => {
  it.each(Object.entries(GOLDEN))("says %s of a request of that kind, before anything else", (code, question) => {
    const { findings, verdict } = explain(question);
    const codes = findings.map((found) => found.code);
    expect(NOTES.includes(code as FindingCode) ? codes : codes.slice(0, 1)).toContain(code);
    expect(verdict.ok).toBe(codes[0] === "Valid");
    expect(findings.map(({ message }) => message).join()).not.toMatch(/\{(?!url|body)\w+\}|undefined|\?[,;]/);
  });

  it("has a sentence for a person, in one line, for each code", () => {
    for (const text of Object.values(MESSAGES)) expect(text).toMatch(/^\S[^\n]+$/);
  });

  it.each(Object.entries(GOLDEN))("shows neither secret nor signature nor body when it says %s", (_code, question) => {
    const text = JSON.stringify(explain(question));
    const signatures = Object.values(question.request.headers)
      .flat()
      .filter((value) => value.length >= 16);
    const secrets = [...question.keys, ...(question.otherKeys ?? [])].map((one) =>
      one.secret.reveal().toString().trim(),
    );
    for (const shown of [...signatures, ...secrets.filter((one) => one.length > 3), SECRET, KEY_HEX, "ü/<1>"]) {
      // The canonical signature is part of a verdict, which goes to the gateway and not to people.
      expect(JSON.stringify(explain(question).findings)).not.toContain(shown);
    }
    expect(text).toContain('"findings"');
  });

  it("finds two things at once, and the clock beside them", () => {
    const request = sent(STRIPE, SECRET, { body: JSON_BODY, at: NOW - 400_000 });
    const pretty = Buffer.from(JSON.stringify(JSON.parse(JSON_BODY), undefined, 4));
    const question = ask(STRIPE, request, { received: { body: pretty }, keys: [key(`${SECRET}\n`)] });
    const codes = explain({
      ...question,
      request: { ...question.request, body: Buffer.from(`${JSON_BODY}\n`) },
    }).findings;
    expect(codes.map(({ code }) => code)).toEqual(["SecretBlanks", "BodyLineEndAdded", "ClockAhead"]);
  });

  it("does not call a request late when its route checks no time", () => {
    const late = explain(ask(STRIPE, sent(STRIPE, SECRET, { at: NOW - 10_000_000 }), { toleranceMs: 20_000_000 }));
    expect(late.findings[0]?.code).toBe("Valid");
  });

  it.each([
    ["compact", '{\n  "a": 1.0,\n  "b": "x/y"\n}', '{"a":1.0,"b":"x/y"}'],
    ["with a blank behind each comma and colon", '{"a":1,"b":2}', '{"a": 1, "b": 2}'],
    ["escaped slashes", '{"b":"x/y"}', '{"b":"x\\/y"}'],
    ["unicode escapes", '{"b":"ü"}', '{"b":"\\u00fc"}'],
    ["without escapes", '{"b":"\\u00fc"}', '{"b":"ü"}'],
    ["with sorted keys", '{"b":1,"a":2}', '{"a":2,"b":1}'],
    ["<, > and & escaped", '{"b":"<"}', '{"b":"\\u003c"}'],
  ])("tells a body signed %s", (how, arrives, signed) => {
    expect(explain(changed(signed, arrives)).findings[0]?.message).toContain(how);
  });

  it.each([
    "http://hooks.example.com/in",
    "https://hooks.example.com:443/in",
    "http://hooks.example.com:80/in/",
    "https://hooks.example.com/in/",
    "https://internal.example.com/in",
  ])("tells that %s was signed", (url) => {
    const request = sent(OF_URL, SECRET, { url });
    const headers = { ...request.headers, host: ["internal.example.com"] };
    const { findings } = explain(ask(OF_URL, request, { received: { headers } }));
    expect(findings[0]?.message).toContain(`the sender signed ${url};`);
  });

  it("names other providers whose signature it is rather than the header it stands in", () => {
    const bitbucket: VerifierConfig = { type: "provider", provider: "bitbucket" };
    const [first, second] = explain(ask(GITHUB, sent(bitbucket, SECRET))).findings;
    expect(first).toMatchObject({ code: "OtherProvider", message: expect.stringContaining("Bitbucket") as string });
    expect(second?.code).toBe("HeaderRenamed");
    const { findings } = explain(ask(GITHUB, sent(STANDARD, `whsec_${KEY_HEX}`), { keys: [key(KEY_HEX)] }));
    expect(findings[0]?.message).toContain("set verification.provider to standard-webhooks");
  });

  it.each([
    ['[{"sg_event_id":"a"}]', "IdTaken", "the id is a, from json:/0/sg_event_id"],
    [
      '[{"sg_event_id":"a"},{"sg_event_id":"b"}]',
      "IdMissing",
      "json:/0/sg_event_id is missing, empty or there more than once",
    ],
  ])("tells which id %s gives", (text, code, message) => {
    const sources = [{ from: "json", pointer: "/0/sg_event_id", signed: true }] as const;
    const question = ask(HMAC, sent(HMAC, SECRET, { body: text }), { dedupe: { sources, withoutId: "Body" } });
    expect(explain(question).findings.at(-1)).toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
  });

  it("tells which field of a form or header is the id, and passes over parts that need not be there", () => {
    const sources = [
      { from: "form", name: "Sid", signed: true, optional: true },
      { from: "form", name: "State", signed: true, optional: true },
      { from: "header", name: "X-Id", signed: false, optional: true },
    ] as const;
    const request = { ...sent(HMAC, SECRET, { body: "Sid=s1&State=a&State=b" }) };
    const withHeader = { ...request, headers: { ...request.headers, "x-id": ["h1"] } };
    const { findings } = explain(ask(HMAC, withHeader, { dedupe: { sources, withoutId: "Signature" } }));
    expect(findings.at(-1)?.message).toBe("dedupe: the id is s1 · h1, from form:Sid, header:X-Id");
  });

  it("leaves the values of a query and what stands before the host out of a URL", () => {
    const url = "http://hooks.example.com/in?token=hunter22";
    const request = sent(OF_URL, SECRET, { url });
    const { findings } = explain(ask(OF_URL, request, { received: { path: "/in?token=hunter22" } }));
    expect(findings[0]?.message).toContain("http://hooks.example.com/in?token=…;");
  });

  it("does bounded work, whatever it is given", () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`x-header-${n}`, ["12345678901234567890"]]));
    const keys = Array.from({ length: 5 }, (_, n) => key(`"c2VjcmV0c2VjcmV0${n}"`));
    const question = ask(OF_URL, sent(OF_URL, "x"), { received: { headers: { host: ["a", "b"], ...many } }, keys });
    const message = explain(question).findings[0]?.message ?? "";
    expect(message).not.toBe("");
    const probe = new Probe({ config: OF_URL, now: NOW, material: [] });
    const candidate = { request: question.request, keys };
    const verdicts = Array.from({ length: MAX_CHECKS }, () => probe.verdict(candidate));
    expect(verdicts.filter((verdict) => verdict !== undefined)).toHaveLength(MAX_CHECKS / keys.length);
  });

  it("knows the header that {id} stands for", () => {
    const config = { ...HMAC, signedContent: "{id}.{body}" };
    const headers = { "x-id": "evt_1" };
    const request = sent({ ...config, idHeader: "x-id" }, SECRET, { headers });
    expect(explain(ask(config, request, { idHeader: "x-id" })).findings[0]?.code).toBe("Valid");
    const asked = ask(config, request, { idHeader: "x-id", received: { body: Buffer.from(`${JSON_BODY}\n`) } });
    expect(explain(asked).findings[0]?.code).toBe("BodyLineEndAdded");
  });

  it.each<[VerifierConfig, PlainRequest, string]>([
    [{ type: "token", header: "x-token", prefix: "Bearer " }, simple(`Bearer ${SECRET}`, "x-token"), `${SECRET}\n`],
    [
      { type: "basic" },
      simple(`Basic ${Buffer.from(`me:${SECRET}`).toString("base64")}`, "authorization"),
      ` me:${SECRET}`,
    ],
    [{ type: "provider", provider: "gitlab" }, simple(SECRET, "x-gitlab-token"), `"${SECRET}"`],
  ])("tells how a static secret of %j is written wrongly", (config, request, stored) => {
    const { findings } = explain(ask(config, request, { keys: [key(stored)] }));
    expect(findings[0]?.code).toMatch(/^Secret(Blanks|Quotes)$/);
  });

  it("leaves control characters of a request out of what it says", () => {
    const escape = String.fromCodePoint(27);
    const { findings } = explain(
      ask(STRIPE, sent(STRIPE, SECRET, { body: JSON.stringify({ id: `a${escape}[31m\u202eb` }) })),
    );
    expect(findings.at(-1)?.message).toContain("the id is a[31mb,");
  });

  it("unpacks no bomb, and tries a large body in fewer ways", () => {
    const bomb = gzipSync(Buffer.alloc(17 * 1_024 * 1_024));
    const asked = ask(HMAC, sent(HMAC, SECRET, { body: Buffer.alloc(17 * 1_024 * 1_024) }), {
      received: { body: bomb },
    });
    expect(explain(asked).findings[0]?.code).toBe("Unexplained");
    const probe = new Probe({ config: HMAC, now: NOW, material: [] });
    const request = { ...simple("00"), body: Buffer.alloc(1_024) };
    expect(probe.verdict({ keys: [key(SECRET)], request })).toBeDefined();
    const huge = Object.defineProperty(Buffer.alloc(1), "length", { value: MAX_HASHED_BYTES });
    expect(probe.verdict({ keys: [key(SECRET)], request: { ...request, body: huge } })).toBeUndefined();
  });

  it("explains refused cases of every provider in few checks, and shows none of their secrets and signatures", () => {
    const path = new URL("../../../test/vectors/signatures.json", import.meta.url);
    const cases = JSON.parse(readFileSync(path, "utf8")) as SignatureCase[];
    const perScheme = new Map<string, number>();
    for (const testCase of cases) {
      const bound = bindCase(testCase);
      const seen = perScheme.get(testCase.scheme) ?? 0;
      if ("unsupported" in bound || seen > 2) continue;
      perScheme.set(testCase.scheme, seen + 1);
      const { method, url, path: target, body } = requestOf(testCase);
      const headers = Object.fromEntries(
        Object.entries(testCase.headers).map(([name, value]) => [name.toLowerCase(), [value].flat()]),
      );
      const { config, parameters, keys, toleranceMs } = bound;
      const request = { method, url, path: target, body, headers };
      const now = testCase.now === undefined ? NOW : testCase.now * 1_000;
      const { findings } = explain({
        config,
        parameters,
        keys,
        request,
        now,
        ...(toleranceMs !== undefined && { toleranceMs }),
      });
      expect(findings.length).toBeGreaterThan(0);
      const text = JSON.stringify(findings);
      const signatures = bodiless(headers).filter((value) => value.length > 30);
      const secrets = keys.map(({ secret }) => secret.reveal().toString()).filter((value) => value.length > 14);
      for (const shown of [...signatures, ...secrets]) expect(text).not.toContain(shown);
    }
    expect(perScheme.size).toBeGreaterThan(40);
  });
});

/** Values of headers that may hold a signature: ids and URLs may be shown. */
function bodiless(headers: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const isSecret = ([name]: readonly [string, unknown]) =>
    /signature|hmac|sig$|authorization|token|verification/.test(name);
  return Object.entries(headers)
    .filter(isSecret)
    .flatMap(([, values]) => values);
}
