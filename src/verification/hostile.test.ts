import { generateKeyPairSync } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../lib/json-source.ts";
import type { Material } from "./material.ts";
import { presets } from "./presets/index.ts";
import type { Preset } from "./presets/preset.ts";
import { REFUSAL_STATUS } from "./refusal.ts";
import { fillSample } from "./sample.ts";
import { sampleParameters, signedRequest } from "./testing.ts";
import type { SignedRequest, Verifier } from "./types.ts";
import { keysOf } from "./vectors.ts";
import { createVerifier } from "./verifier.ts";

// Whatever is sent, verifying it gives a verdict with a known status and never throws: an error would be a 500, and a stack trace for the sender to steer.

const NOW = 1_760_000_000_000;
const ID = "0b7a2a36-6c1f-4c93-8f1e-2f0e0f3f7d55";
const RUNS = 80;

const KEYS = keysOf(["0123456789abcdef".repeat(4), "", "é", "-----BEGIN PUBLIC KEY-----", "{", "whpk_AAAA"]);
const PUBLIC_KEY = generateKeyPairSync("rsa", { modulusLength: 1_024 }).publicKey;

/** Header values as Node gives them: latin1, no line ends. */
const latin1 = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCodePoint(code)) });
const odd = fc.constantFrom(
  "",
  " ",
  ",",
  "=",
  "t=",
  "t=1,v1=",
  "v1,",
  "a.b.c",
  "e30.e30.e30",
  "{}",
  "1e3",
  "-1",
  "\u00a0",
);
const value = fc.oneof(latin1, odd, fc.constantFrom("1760000000", "2025-10-09T08:53:20Z", "v1=00", "sha256=00"));
const body = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .constantFrom("", "null", "[]", "[[]]", '{"__proto__":null}', '{"signature":{}}', "a=1&a=2&%zz", "[".repeat(9_999))
    .map((text) => Buffer.from(text)),
);
const path = fc.oneof(fc.constantFrom("/", "/?", "/?token=a&token=b", "/?%zz", "*"), fc.webPath({ size: "small" }));

/** Something done to a request that was right. */
type Change = (request: SignedRequest, names: readonly string[]) => SignedRequest;

const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.nat(), fc.array(value, { maxLength: 3 })).map(
    ([at, values]): Change =>
      (request, names) => {
        const changed = names[at % names.length];
        return { ...request, header: (name) => (name === changed ? values : request.header(name)) };
      },
  ),
  fc.tuple(fc.nat(), fc.nat(), value).map(
    ([at, place, text]): Change =>
      (request, names) => {
        const changed = names[at % names.length];
        const insert = (sent: string) =>
          sent.slice(0, place % (sent.length + 1)) + text + sent.slice(place % (sent.length + 1));
        return {
          ...request,
          header: (name) => (name === changed ? request.header(name).map(insert) : request.header(name)),
        };
      },
  ),
  body.map(
    (bytes): Change =>
      (request) =>
        anew(request, bytes),
  ),
  fc.tuple(fc.nat(), fc.nat(255)).map(
    ([at, byte]): Change =>
      (request) => {
        const bytes = Buffer.from(request.body);
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        return anew(request, bytes);
      },
  ),
  path.map(
    (text): Change =>
      (request) => ({ ...request, path: text, url: `https://hooks.example${text}` }),
  ),
  fc.constantFrom("", "get", "DELETE").map(
    (method): Change =>
      (request) => ({ ...request, method }),
  ),
);

function anew(request: SignedRequest, bytes: Buffer): SignedRequest {
  const parsed = parseJson(bytes);
  return { ...request, body: bytes, json: () => parsed };
}

function startOf(
  preset: Preset,
  verifier: Verifier,
): { readonly request: SignedRequest; readonly names: readonly string[] } {
  const { body: bytes, headers } = fillSample(preset.sample, { id: ID, now: NOW });
  const input = { method: "POST", url: "https://hooks.example/in", path: "/in", body: bytes, id: ID, headers };
  const signed = preset.secrets.signing === "shared" ? verifier.sign(input, KEYS.slice(0, 1), NOW) : { headers };
  const names = [...Object.keys(signed.headers), ...Object.keys(headers), ...verifier.secretHeaders, "content-type"];
  return { request: signedRequest(input, signed), names: [...new Set(names)] };
}

const STATUSES = new Set<number>(Object.values(REFUSAL_STATUS));

describe.each([...presets.values()].map((preset) => [preset.name, preset] as const))("preset %s", (name, preset) => {
  it("gives a verdict on whatever is sent, and throws at nothing", () => {
    const verifier = createVerifier({ type: "provider", provider: name }, { parameters: sampleParameters(preset) });
    const { request, names } = startOf(preset, verifier);
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 4 }), fc.boolean(), (list, isFetched) => {
        const sent = list.reduce((one, change) => change(one, names), request);
        const needed = verifier.needs?.(sent);
        const material: Material | undefined =
          needed && !("ok" in needed) && isFetched ? { id: needed.id, publicKey: PUBLIC_KEY } : undefined;
        const verdict = verifier.verify(sent, KEYS, NOW, material);
        const status = verdict.ok ? 401 : verdict.status;
        expect([STATUSES.has(status), verdict.ok || verdict.detail.length > 0]).toEqual([true, true]);
      }),
      { numRuns: RUNS },
    );
  });
});
