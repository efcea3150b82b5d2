import { existsSync } from "node:fs";
import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { idAt, parseExact, parseJson, pointerTokens, valueAt } from "../../lib/json-source.ts";
import type { SchemeConfig } from "../config.ts";
import { REFUSAL_STATUS } from "../refusal.ts";
import { fillSample } from "../sample.ts";
import type { SignedParts, Verdict, VerificationKey, Verifier } from "../types.ts";
import { keysOf, plainRequest } from "../vectors.ts";
import { createVerifier, isSigned, schemeOf } from "../verifier.ts";
import { presets } from "./index.ts";
import type { DedupeSource, Preset } from "./preset.ts";

const NOW = 1_760_000_000_000;
const ID = "0b7a2a36-6c1f-4c93-8f1e-2f0e0f3f7d55";
const DAY_MS = 86_400_000;

/** What a route must say for a preset that cannot do without. */
const PARAMETERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  topicArn: { topicArn: "arn:aws:sns:eu-central-1:123456789012:orders" },
  webhookId: { webhookId: "1JE4291016473214C" },
  clientId: { clientId: "5f0c2a3b4d5e6f7a8b9c0d1e" },
};

/** Secrets of presets whose scheme does not say what form they have. */
const SECRETS: Readonly<Record<string, readonly [right: string, wrong: string]>> = {
  adyen: ["44782def547aaa06c910c43932b1eb0c", "00782def547aaa06c910c43932b1eb0c"],
  contentful: ["a".repeat(64), "b".repeat(64)],
};

const all = [...presets.values()];
const named = all.map((preset) => [preset.name, preset] as const);

/** Presets whose sender can be imitated: with a key that both sides have, or a token. */
const imitable = named.filter(([, { secrets }]) => secrets.signing === "shared");

describe.each(named)("preset %s", (name, preset) => {
  it("is called as its file or folder is, which a manifest can write", () => {
    expect(name).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
    const places = [`${name}.ts`, `${name}/preset.ts`, `${name.replace(/-[^-]*$/, "")}/preset.ts`];
    expect(places.filter((place) => existsSync(new URL(place, import.meta.url)))).not.toEqual([]);
  });

  it("makes a verifier whose secret headers are never shown", () => {
    const { secretHeaders, signedIdHeader } = verifierOf(preset);
    expect(secretHeaders.filter((header) => preset.showHeaders.includes(header))).toEqual([]);
    for (const header of [...secretHeaders, ...preset.showHeaders, signedIdHeader ?? "x"]) {
      expect(header).toMatch(/^[a-z0-9-]+$/);
    }
    expect(new Set(preset.showHeaders).size).toBe(preset.showHeaders.length);
  });

  it("writes every header in lower case", () => {
    const written = [
      ...preset.dedupe.flatMap((source) => (source.from === "header" ? [source.name] : [])),
      ...Object.keys(preset.sample.headers ?? {}),
      ...headersOf(schemeOf(preset.scheme)),
    ];
    expect(written).toEqual(written.map((header) => header.toLowerCase()));
  });

  it("says of each part of its id whether the signature covers it", () => {
    const { type } = schemeOf(preset.scheme);
    for (const source of preset.dedupe) {
      const what =
        source.from === "header" ? { header: source.name } : source.from === "json" ? { json: source.pointer } : "body";
      const covered = isSigned({ type: "provider", provider: name }, what);
      // A scheme of a provider's own may cover some fields of a body and not the rest.
      const says = type === "custom" && source.signed && source.from !== "header" ? source.signed : covered;
      expect([source, says]).toEqual([source, source.signed]);
    }
  });

  it("finds every part of its id in its sample, but for those that may be missing", () => {
    expect(preset.dedupe.filter((source) => !source.optional && !readable(preset, source))).toEqual([]);
    expect(preset.dedupe.length === 0 || preset.dedupe.some((source) => readable(preset, source))).toBe(true);
  });

  it("says where the type of an event is, and its sample has one there", () => {
    const from = preset.payload.eventTypeFrom;
    if (from === undefined) return;
    const { body, headers } = fillSample(preset.sample, { id: ID, now: NOW });
    const type = from.startsWith("header:")
      ? headers[from.slice(7)]
      : valueAt(jsonOf(body), pointerTokens(from.slice(5)));
    expect(typeof type).toBe("string");
    expect(type).not.toBe("");
  });

  it("has periods and answers that a gateway can keep", () => {
    expect(preset.ackBudgetMs).toBeGreaterThanOrEqual(1_000);
    expect(preset.ackBudgetMs).toBeLessThanOrEqual(120_000);
    expect(preset.retryWindowMs).toBeGreaterThanOrEqual(10 * 60_000);
    expect(preset.retryWindowMs).toBeLessThanOrEqual(30 * DAY_MS);
    expect(preset.toleranceMs).toBeGreaterThanOrEqual(0);
    // A request that still verifies must still be known.
    expect(preset.toleranceMs).toBeLessThanOrEqual(preset.retryWindowMs);
    expect([200, 201, 202, 204]).toContain(preset.ack.status);
    expect(preset.ack.body === undefined || preset.ack.contentType !== undefined).toBe(true);
    for (const status of Object.values(preset.statusOverrides)) expect([400, 401, 403, 500, 503]).toContain(status);
  });

  it("is described in single lines, with a link to the provider's own document", () => {
    const { behaviour, secrets, title } = preset;
    const lines = [
      title,
      secrets.description,
      behaviour.retries,
      behaviour.danger ?? "-",
      behaviour.note ?? "-",
      ...preset.parameters.map(({ description }) => description),
    ];
    for (const line of lines) {
      expect(line).toMatch(/^\S.{0,198}\S$|^\S$/);
      expect(line).not.toMatch(/\S@\S/);
    }
    expect(new URL(preset.documentation).protocol).toBe("https:");
  });
});

describe.each(imitable)("what %s sends", (_name, preset) => {
  it("is accepted as the sample it is, under the id it was given", () => {
    const { verdict } = roundTrip(preset);
    expect(verdict).toMatchObject({ ok: true });
  });

  it("has its time where the scheme looks for it, without the signer's help", () => {
    const scheme = schemeOf(preset.scheme);
    const place = "timestamp" in scheme ? scheme.timestamp : undefined;
    const pointer = place && "json" in place && typeof place.json === "string" ? place.json : undefined;
    const { body } = fillSample(preset.sample, { id: ID, now: NOW });
    const time = pointer === undefined ? NOW : valueAt(jsonOf(body), pointerTokens(pointer));
    expect(new Date(Number(time)).getTime()).toBe(NOW);
  });

  it("is refused with the wrong secret, and without any", () => {
    const { message, verifier } = roundTrip(preset);
    expect(verify(verifier, message, keysOf([secretsOf(preset)[1]]))).toMatchObject({ ok: false, status: 401 });
    expect(verify(verifier, message, keysOf([""]))).toMatchObject({ ok: false, status: 503 });
  });

  it("is refused with another body, unless the body is not signed, which its description then says", () => {
    const { message, verifier } = roundTrip(preset);
    const body = Buffer.from(message.body);
    body[body.length - 1] = (body[body.length - 1] ?? 0) ^ 1;
    const changed = verify(verifier, { ...message, body }, keysOf([secretsOf(preset)[0]]));
    const covered = isSigned({ type: "provider", provider: preset.name }, "body");
    const says = /not (?:authenticated|signed|covered)/.test(preset.behaviour.note ?? "");
    expect({ accepted: changed.ok, allowed: !changed.ok || (!covered && says) }).toMatchObject({ allowed: true });
  });
});

describe.each(["discord", "sendgrid"])("%s, signed with a private key", (name) => {
  it("is accepted over timestamp and body, at any age, and refused when one of them is another", () => {
    const preset = presetCalled(name);
    const { body } = fillSample(preset.sample, { id: ID, now: NOW });
    const { key, header, timeHeader, signature } = providerKey(name, "1700000000", body);
    const message = { headers: { [header]: signature, [timeHeader]: "1700000000" }, body };
    const verifier = verifierOf(preset);
    expect(verify(verifier, message, keysOf([key]))).toMatchObject({ ok: true });
    const later = { ...message, headers: { ...message.headers, [timeHeader]: "1700000001" } };
    expect(verify(verifier, later, keysOf([key]))).toMatchObject({ ok: false, status: 401 });
    const other = { ...message, body: Buffer.concat([body, Buffer.from(" ")]) };
    expect(verify(verifier, other, keysOf([key]))).toMatchObject({ ok: false, status: 401 });
  });
});

describe("senders that can be set up in several ways", () => {
  it.each([
    ["convoy", {}, /^t=1760000000,v1=[0-9a-f]{64}$/],
    ["convoy", { mode: "simple", hash: "SHA512" }, /^[0-9a-f]{128}$/],
    ["convoy", { mode: "advanced", encoding: "base64" }, /^t=1760000000,v1=[0-9A-Za-z+/]{43}=$/],
    ["outpost", {}, /^v0=[0-9a-f]{64}$/],
    ["outpost", { algorithm: "md5", prefix: "", header: "X-Signature" }, /^[0-9a-f]{32}$/],
    ["outpost", { algorithm: "sha1", encoding: "base64" }, /^v0=[0-9A-Za-z+/]{27}=$/],
  ])("%s with %o signs and verifies that way", (name, parameters, form) => {
    const preset = presetCalled(name);
    const { message, verdict } = roundTrip(preset, parameters);
    expect(message.headers[verifierOf(preset, parameters).secretHeaders[0] ?? ""]).toMatch(form);
    expect(verdict).toMatchObject({ ok: true });
  });

  it("Pusher's key decides: another app's is refused although the secret matches", () => {
    const preset = presetCalled("pusher");
    const { message } = roundTrip(preset);
    const verifier = verifierOf(preset, { key: "abc123" });
    const from = (key: string) => ({ ...message, headers: { ...message.headers, "x-pusher-key": key } });
    expect(verify(verifier, from("abc123"), keysOf(["top secret"]))).toMatchObject({ ok: true });
    expect(verify(verifier, from("abc124"), keysOf(["top secret"]))).toMatchObject({
      ok: false,
      reason: "SenderMismatch",
    });
    expect(verify(verifier, message, keysOf(["top secret"]))).toMatchObject({ ok: false, status: 400 });
  });
});

describe("a signature under another name than the usual one", () => {
  it.each([
    ["shopify", "shopify-hmac-sha256"],
    ["hookdeck", "x-hookdeck-signature-2"],
    ["docusign", "x-docusign-signature-2"],
    ["docusign", "x-docusign-signature-100"],
  ])("%s: %s is as good, alone and beside one by another key", (name, other) => {
    const preset = presetCalled(name);
    const { message, verifier } = roundTrip(preset);
    const usual = verifier.secretHeaders[0] ?? "";
    const { [usual]: signature = "", ...rest } = message.headers;
    const stranger = roundTrip(preset, undefined, "other secret").message.headers[usual] ?? "";
    const keys = keysOf([secretsOf(preset)[0]]);
    expect(verify(verifier, { ...message, headers: { ...rest, [other]: signature } }, keys).ok).toBe(true);
    const both = { ...rest, [usual]: stranger, [other]: signature };
    expect(verify(verifier, { ...message, headers: both }, keys).ok).toBe(true);
    expect(verify(verifier, { ...message, headers: { ...rest, [other]: stranger } }, keys).ok).toBe(false);
    expect(verifier.secretHeaders).toContain(other);
  });
});

describe("a provider that tests its receiver with wrong signatures", () => {
  it.each(["xero", "discord"])("%s gets 401 for a signature that is missing or malformed too", (name) => {
    const { statusOverrides } = presetCalled(name);
    for (const reason of ["HeaderMissing", "SignatureMissing", "TimestampMalformed"] as const) {
      expect([reason, statusOverrides[reason] ?? REFUSAL_STATUS[reason]]).toEqual([reason, 401]);
    }
    for (const reason of ["SignatureMalformed", "SignatureMismatch", "TimestampExpired"] as const) {
      expect([reason, statusOverrides[reason] ?? REFUSAL_STATUS[reason]]).toEqual([reason, 401]);
    }
  });
});

describe("Outpost", () => {
  it("reads every signature of the list behind its one prefix", () => {
    const preset = presetCalled("outpost");
    const { message, verifier } = roundTrip(preset);
    const signature = message.headers["x-outpost-signature"] ?? "";
    const list = `v0=${"0".repeat(64)},${signature.slice(3)}`;
    const rotated = { ...message, headers: { ...message.headers, "x-outpost-signature": list } };
    expect(verify(verifier, rotated, keysOf(["top secret"]))).toMatchObject({ ok: true });
  });
});

describe("a secret that is the key as it is written", () => {
  it.each(["polar", "bigcommerce"])("signs for %s without being decoded", (name) => {
    const secret = "whsec_bm90IGRlY29kZWQ=";
    const preset = presetCalled(name);
    const { message, verifier } = roundTrip(preset, {}, secret);
    expect(verify(verifier, message, keysOf([secret]))).toMatchObject({ ok: true, deliveryId: ID });
    expect(verify(createVerifier({ type: "provider", provider: "svix" }), message, keysOf([secret]))).toMatchObject({
      ok: false,
    });
  });
});

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly query?: string;
}

function roundTrip(preset: Preset, parameters?: Readonly<Record<string, string>>, secret = secretsOf(preset)[0]) {
  const verifier = verifierOf(preset, parameters);
  const { body, headers } = fillSample(preset.sample, { id: ID, now: NOW });
  const keys = keysOf([secret]);
  const input = { method: "POST", url: urlOf(undefined), path: "/hook", body, id: ID, headers };
  const signed: SignedParts = verifier.sign(input, keys, NOW);
  const query = signed.query;
  const message: Message = {
    headers: { ...headers, ...signed.headers },
    body: signed.body ?? body,
    ...(query !== undefined && { query }),
  };
  return { verifier, message, verdict: verify(verifier, message, keys) };
}

function verify(verifier: Verifier, { headers, body, query }: Message, keys: readonly VerificationKey[]): Verdict {
  const url = urlOf(query);
  const { pathname, search } = new URL(url);
  return verifier.verify(plainRequest({ method: "POST", url, path: pathname + search, headers, body }), keys, NOW);
}

function urlOf(query: string | undefined): string {
  return `https://hooks.example.com/hook${query === undefined ? "" : `?${query.replace(/^\?/, "")}`}`;
}

function verifierOf(preset: Preset, parameters = requiredOf(preset)): Verifier {
  return createVerifier({ type: "provider", provider: preset.name }, { parameters });
}

function requiredOf(preset: Preset): Readonly<Record<string, string>> {
  const required = preset.parameters.filter((parameter) => parameter.required);
  return Object.assign(
    {},
    ...required.map(({ name, values }) => PARAMETERS[name] ?? { [name]: values?.[0] ?? "example" }),
  );
}

/** A secret in the form that the scheme wants, and another one. */
function secretsOf(preset: Preset): readonly [right: string, wrong: string] {
  const special = SECRETS[preset.name];
  if (special) return special;
  const scheme = schemeOf(preset.scheme);
  if (scheme.type === "standard-webhooks") return ["whsec_dG9wIHNlY3JldCE=", "whsec_b3RoZXIgc2VjcmV0"];
  const encoding = "secretEncoding" in scheme ? (scheme.secretEncoding ?? "raw") : "raw";
  const write = (text: string) => (encoding === "raw" ? text : Buffer.from(text).toString(encoding));
  return [write("top secret"), write("other secret")];
}

/** Whether a part of the id is there in the sample as its sender sends it. */
function readable(preset: Preset, source: DedupeSource): boolean {
  const { body, headers } =
    preset.secrets.signing === "shared" ? roundTrip(preset).message : fillSample(preset.sample, { id: ID, now: NOW });
  if (source.from === "json")
    return idAt(jsonOf(body), pointerTokens(source.pointer), () => parseExact(body)) !== undefined;
  if (source.from === "form") return new URLSearchParams(body.toString()).getAll(source.name).length === 1;
  return headers[source.name] !== undefined;
}

function idHeaderOf(scheme: SchemeConfig): string | undefined {
  return "idHeader" in scheme ? scheme.idHeader : undefined;
}

function headersOf(scheme: SchemeConfig): readonly string[] {
  const places = "otherHeaders" in scheme ? (scheme.otherHeaders ?? []) : [];
  const own = "header" in scheme ? [scheme.header] : [];
  const time = "timestamp" in scheme ? scheme.timestamp?.header : undefined;
  const key = "keyIdHeader" in scheme ? scheme.keyIdHeader : undefined;
  return [...own, ...places, time, key, idHeaderOf(scheme)].filter((header) => header !== undefined);
}

function jsonOf(body: Buffer): unknown {
  const parsed = parseJson(body);
  return parsed.ok ? parsed.value : undefined;
}

function presetCalled(name: string): Preset {
  const preset = presets.get(name);
  if (preset) return preset;
  throw new Error(`no preset ${name}`);
}

/** A key pair as the provider has one: the public key as it shows it, and a signature over timestamp and body. */
function providerKey(name: string, timestamp: string, body: Buffer) {
  const content = Buffer.concat([Buffer.from(timestamp), body]);
  if (name === "discord") {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");
    const signature = sign(null, content, privateKey).toString("hex");
    return { key, signature, header: "x-signature-ed25519", timeHeader: "x-signature-timestamp" };
  }
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    key: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
    signature: sign("sha256", content, privateKey).toString("base64"),
    header: "x-twilio-email-event-webhook-signature",
    timeHeader: "x-twilio-email-event-webhook-timestamp",
  };
}
