import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Material } from "../material.ts";
import type { Refusal } from "../refusal.ts";
import type { SignedRequest } from "../types.ts";
import { keysOf, plainRequest } from "../vectors.ts";
import { createVerifier, presetOf } from "../verifier.ts";
import { answerHandshake, answerHeaders, findHandshake, isRefusal } from "./find.ts";
import type { HandshakeAnswer } from "./handshake.ts";

/** A case of `test/vectors/handshakes.json`. */
interface Vector {
  readonly provider: string;
  readonly scheme: string;
  readonly secret: string | null;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly bodyBase64: string;
    readonly now?: number;
  };
  readonly response: {
    readonly status: number;
    readonly contentType?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly bodyOneOf?: readonly string[];
    readonly json?: unknown;
  };
  readonly extra?: { readonly certPem?: string };
}

const vectors = JSON.parse(
  readFileSync(new URL("../../../test/vectors/handshakes.json", import.meta.url), "utf8"),
) as Vector[];

/** Where a case's provider is called otherwise here. */
const NAMES: Readonly<Record<string, string>> = { "x-twitter": "x", "microsoft-graph": "ms-graph" };

/** What a case's secret is, where it is no key. */
const PARAMETERS: Readonly<Record<string, string>> = { "aws-sns": "topicArn" };

function perform(vector: Vector): HandshakeAnswer | Refusal {
  const provider = NAMES[vector.provider] ?? vector.provider;
  const request = requestOf(vector);
  const handshake = findHandshake(presetOf(provider).handshakes, request);
  if (!handshake) throw new Error(`not recognised as a handshake of ${provider}`);
  const parameter = PARAMETERS[provider];
  const signing = keysOf(vector.secret === null || parameter ? [] : [vector.secret]);
  const parameters = parameter ? { [parameter]: vector.secret ?? "" } : {};
  const context = { request, signing, verifyTokens: tokensIn(provider, signing), parameters };
  if (!handshake.signed) return answerHandshake(handshake, context);
  const verifier = createVerifier({ type: "provider", provider }, { parameters });
  const wanted = verifier.needs?.(request);
  if (wanted && "ok" in wanted) return wanted;
  const material = wanted && certificateOf(vector, wanted.id);
  const verdict = verifier.verify(request, signing, (vector.request.now ?? 0) * 1_000, material);
  return verdict.ok ? answerHandshake(handshake, context, verdict.key?.id) : verdict;
}

/** The secret of eBay's case is the verification token: eBay signs with a key of its own. */
function tokensIn<T>(provider: string, signing: readonly T[]): readonly T[] {
  return presetOf(provider).secrets.signing === "public-key" ? signing : [];
}

function requestOf({ request }: Vector): SignedRequest {
  const { method, path, headers, bodyBase64 } = request;
  const url = `https://hooks.example.com${path}`;
  return plainRequest({ method, url, path, headers, body: Buffer.from(bodyBase64, "base64") });
}

function certificateOf({ extra }: Vector, id: string): Material {
  return { id, publicKey: new X509Certificate(extra?.certPem ?? "").publicKey };
}

/** An answer in the form in which a case says it. */
function asSeen(result: HandshakeAnswer | Refusal, { response }: Vector): unknown {
  if (isRefusal(result)) return { status: result.status };
  const headers = answerHeaders(result);
  return {
    status: result.status,
    ...(response.contentType && { contentType: headers["content-type"] }),
    ...(response.headers && {
      headers: Object.fromEntries(Object.keys(response.headers).map((name) => [name, headers[name]])),
    }),
    ...(response.bodyOneOf && {
      bodyOneOf: response.bodyOneOf.includes(result.body) ? response.bodyOneOf : result.body,
    }),
    ...(response.json !== undefined && { json: JSON.parse(result.body) as unknown }),
  };
}

describe("handshakes as providers document them", () => {
  it("are there", () => {
    expect(vectors.length).toBeGreaterThanOrEqual(13);
  });

  it.each(vectors.map((vector) => [vector.provider, vector.scheme, vector] as const))(
    "%s: %s is answered as expected",
    (_provider, _scheme, vector) => {
      expect(asSeen(perform(vector), vector)).toEqual(vector.response);
    },
  );
});
