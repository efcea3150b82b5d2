import type { Content, SignatureConfig, VerifierOptions } from "../config.ts";
import { keyRingCache, selectById, usableAt, type PreparedKey } from "../keys.ts";
import { NO_USABLE_KEY, refuse, type Refusal } from "../refusal.ts";
import type { SchemeKind } from "../schemes/scheme-kind.ts";
import { signerOf } from "../signer.ts";
import { checkTimestamp } from "../timestamp.ts";
import type { SignedRequest, Verdict, VerificationKey, Verifier } from "../types.ts";
import type { SignatureAlgorithm } from "./algorithm.ts";
import { bodyTime, malformed, readClaims, type Claims } from "./claims.ts";
import { compileSettings, coverageOf, type SignatureSettings } from "./settings.ts";
import { signedContents } from "./signed-content.ts";
import { signRequest } from "./signing.ts";

interface Engine<M, S> {
  readonly settings: SignatureSettings;
  readonly algorithm: SignatureAlgorithm<M, S>;
}

interface Match {
  readonly key: VerificationKey;
  readonly canonical: string;
}

/** The kind of all schemes that sign a request as bytes; they differ in the algorithm. */
export function signatureKind<C extends SignatureConfig, M, S>(
  algorithmOf: (config: C) => SignatureAlgorithm<M, S>,
): SchemeKind<C> {
  return {
    create: (config, options) => signatureScheme(config, algorithmOf(config), options),
    covers: coverageOf,
    signsTime: (config) => config.timestamp !== undefined,
    signsUrl: ({ signedContent }) =>
      typeof signedContent === "string" ? signedContent.includes("{url}") : signedContent.url === true,
    readsKeyIds: ({ keyIdHeader }) => keyIdHeader !== undefined,
    describe: (config) => ({
      place: placeOf([config.header, ...(config.otherHeaders ?? [])]).toLowerCase(),
      algorithm: `${algorithmOf(config).name}, ${config.encoding}`,
      content: typeof config.signedContent === "string" ? config.signedContent : config.signedContent.description,
    }),
  };
}

/** A provider with a header for each of a hundred keys needs no hundred names. */
function placeOf(headers: readonly string[]): string {
  return headers.length <= 3 ? headers.join(", ") : `${headers[0]} to ${headers.at(-1)}`;
}

/**
 * A scheme from data. Says GitHub, Stripe, Slack, Shopify and the like with no code of their own.
 *
 * @throws VerificationConfigError when the settings contradict each other
 */
function signatureScheme<M, S>(
  config: SignatureConfig,
  algorithm: SignatureAlgorithm<M, S>,
  options: VerifierOptions,
): Verifier {
  const settings = compileSettings(config, options);
  const engine = { settings, algorithm };
  const ring = keyRingCache((secret) => algorithm.prepare(secret));
  return {
    ...(settings.trustsId && settings.idHeader !== undefined && { signedIdHeader: settings.idHeader }),
    secretHeaders: settings.headers,
    verify: (request, keys, now) => verify(engine, ring(keys), request, now),
    sign: (request, keys, now) => signRequest(engine, signerOf(ring(keys), now), request, now),
  };
}

function verify<M, S>(
  engine: Engine<M, S>,
  ring: readonly PreparedKey<M>[],
  request: SignedRequest,
  now: number,
): Verdict {
  const { settings, algorithm } = engine;
  const usable = usableAt(ring, now);
  if (usable.length === 0) return NO_USABLE_KEY;
  const claims = readClaims(settings, algorithm, request);
  if ("ok" in claims) return claims;
  const late = heldAgainst(settings, claims.signedAt, now);
  if (late) return late;
  const contents = signedContents(settings, request, claims);
  if ("ok" in contents) return contents;
  const candidates = selectById(usable, claims.keyId);
  const match = findMatch(algorithm, candidates, contents, claims.signatures);
  if (!match) return mismatch(engine, claims, candidates.length);
  const signedAt = settings.timestamp?.from === "json" ? timeInBody(settings, request, now) : claims.signedAt;
  return typeof signedAt === "object" ? signedAt : accept(settings, match, claims, signedAt);
}

function mismatch<M, S>({ settings, algorithm }: Engine<M, S>, { signatures }: Claims<S>, keys: number): Refusal {
  if (!signatures.some((signature) => algorithm.isWritten(signature))) return malformed(settings, algorithm);
  return refuse("SignatureMismatch", `${settings.headers[0]} matches none of ${keys} key(s) over the raw body`);
}

function findMatch<M, S>(
  algorithm: SignatureAlgorithm<M, S>,
  candidates: readonly PreparedKey<M>[],
  contents: readonly Content[],
  signatures: readonly S[],
): Match | undefined {
  for (const content of contents) {
    for (const { key, material } of candidates) {
      const canonical = algorithm.match(material, content, signatures);
      if (canonical) return { key, canonical };
    }
  }
  return undefined;
}

function accept(
  { trustsId, contentOf }: SignatureSettings,
  { key, canonical: signature }: Match,
  { id }: Claims<unknown>,
  signedAt: number | undefined,
): Verdict {
  const timed =
    signedAt === undefined
      ? ({ ok: true, key, signature } as const)
      : ({ ok: true, key, signature, signedAt } as const);
  if (contentOf?.blursBody === true) return { ...timed, nonce: signature };
  return id === undefined || !trustsId ? timed : { ...timed, deliveryId: id };
}

/** The time in a body whose signature has matched. */
function timeInBody(settings: SignatureSettings, request: SignedRequest, now: number): number | undefined | Refusal {
  if (settings.timestamp?.from !== "json") return undefined;
  const signedAt = bodyTime(settings.timestamp, request);
  return typeof signedAt === "object" ? signedAt : (heldAgainst(settings, signedAt, now) ?? signedAt);
}

function heldAgainst(
  { timestamp, toleranceMs }: SignatureSettings,
  signedAt: number | undefined,
  now: number,
): Refusal | undefined {
  if (signedAt === undefined || timestamp === undefined) return undefined;
  return checkTimestamp(signedAt, now, toleranceMs, timestamp.unit);
}
