import { hash } from "node:crypto";
import { HmacKey } from "../../lib/hmac.ts";
import { DEFAULT_TOLERANCE_MS, type JwtConfig, type VerifierOptions } from "../config.ts";
import { checkTimes, coversBody, tokenId } from "../jws-claims.ts";
import { fitsJws, type JwsKey, jwsKeyOf, verifyJws } from "../jws-algorithms.ts";
import { type Jws, jwsSigningInput, parseJws } from "../jws.ts";
import { keyRingCache, type PreparedKey, usableAt } from "../keys.ts";
import type { Material, MaterialRequest } from "../material.ts";
import { NO_USABLE_KEY, refuse, type Refusal, singleHeader } from "../refusal.ts";
import { cannotSign } from "../signer.ts";
import type { SignedParts, SignedRequest, SignInput, Verdict, VerificationKey, Verifier } from "../types.ts";
import { nonceGoodUntil } from "../timestamp.ts";
import { PLAIN, type SchemeKind } from "./scheme-kind.ts";

/** How long a token that we make is good, seconds. */
const LIFETIME_S = 300;

/** A token whose signature is right, and whose key it was. */
interface Trusted {
  readonly jws: Jws;
  /** `undefined`: fetched from the provider. */
  readonly key: VerificationKey | undefined;
}

/** A JSON Web Token in a header (RFC 7515, RFC 7519, RFC 8725), as Plaid's and Monday's. */
export const jwtKind: SchemeKind<JwtConfig> = {
  create: jwtScheme,
  covers: ({ bodyHashClaim }) => ({ body: bodyHashClaim !== undefined, headers: [] }),
  signsTime: ({ timeClaim }) => timeClaim === "iat",
  ...PLAIN,
  describe: ({ header, algorithm, bodyHashClaim, timeClaim }) => ({
    place: header.toLowerCase(),
    algorithm: `JWT ${algorithm}`,
    content: bodyHashClaim === undefined ? timeClaim : `${timeClaim}, ${bodyHashClaim} of the body`,
  }),
};

function jwtScheme(config: JwtConfig, options: VerifierOptions): Verifier {
  const header = config.header.toLowerCase();
  const { algorithm, key: materialFor, timeClaim, bodyHashClaim } = config;
  const toleranceMs = options.toleranceMs ?? DEFAULT_TOLERANCE_MS;
  const ring = keyRingCache((secret) => jwsKeyOf(algorithm, secret));

  function read(request: SignedRequest): Jws | Refusal {
    const value = singleHeader(request, header, "SignatureMalformed");
    if (typeof value !== "string") return value;
    const token = withoutPrefix(config, value);
    if (token === undefined) return refuse("SignatureMalformed", `${header} does not begin with "${config.prefix}"`);
    return parseJws(token, algorithm, header);
  }

  function judge({ jws, key }: Trusted, body: Buffer, now: number): Verdict {
    const times = checkTimes(jws.claims, timeClaim, now, toleranceMs);
    if ("ok" in times) return times;
    if (bodyHashClaim !== undefined && !coversBody(jws.claims, bodyHashClaim, body)) {
      return refuse("SignatureMismatch", `${bodyHashClaim} in ${header} is not the SHA-256 of the raw body`);
    }
    // Of an ES256 signature anybody can make a second one that is valid as well, so what is signed stands for it.
    // Tokens of one second are equal where the sender gives them no id, and then one of them says nothing of the next body.
    const jti = bodyHashClaim === undefined ? tokenId(jws.claims) : undefined;
    const digest = hash("sha256", jws.signingInput, "base64url");
    return {
      ok: true,
      key,
      signature: digest,
      ...(times.signedAt !== undefined && { signedAt: times.signedAt }),
      ...(jti !== undefined && { nonce: jti, ...nonceGoodUntil(times.goodUntil, now) }),
    };
  }

  return {
    secretHeaders: [header],
    ...(materialFor !== undefined && {
      needs(request: SignedRequest): MaterialRequest | Refusal {
        const jws = read(request);
        return "ok" in jws ? jws : wanted(jws, materialFor, header);
      },
    }),
    verify(request, keys, now, material) {
      const usable = usableAt(ring(keys), now);
      if (materialFor === undefined && usable.length === 0) return NO_USABLE_KEY;
      const jws = read(request);
      if ("ok" in jws) return jws;
      const key = materialFor ? fetchedKey(config, wanted(jws, materialFor, header), material, now) : undefined;
      if (key !== undefined && "ok" in key) return key;
      const trusted = key ? trustFetched(algorithm, key, jws) : findTrusted(algorithm, usable, jws);
      if (trusted) return judge(trusted, request.body, now);
      return refuse("SignatureMismatch", `the signature of the token in ${header} is wrong`);
    },
    sign: (input, keys, now) => sign(config, usableAt(ring(keys), now)[0], input, now),
  };
}

function withoutPrefix({ prefix = "", prefixOptional }: JwtConfig, value: string): string | undefined {
  if (value.startsWith(prefix)) return value.slice(prefix.length);
  return prefixOptional ? value : undefined;
}

function wanted(jws: Jws, key: NonNullable<JwtConfig["key"]>, header: string): MaterialRequest | Refusal {
  if (jws.kid !== undefined) return key(jws.kid);
  return refuse("SignatureMalformed", `the token in ${header} names no key (kid)`);
}

/** The key that the provider published for this token. */
function fetchedKey(
  { algorithm }: JwtConfig,
  request: MaterialRequest | Refusal,
  material: Material | undefined,
  now: number,
): Material | Refusal {
  if ("ok" in request) return request;
  if (material?.id !== request.id) return refuse("MaterialUnavailable", "the key that the token names was not fetched");
  const { notBefore = -Infinity, notAfter = Infinity, publicKey } = material;
  if (now < notBefore || now > notAfter)
    return refuse("CertificateUntrusted", "the key that the token names has expired");
  if (fitsJws(algorithm, publicKey)) return material;
  return refuse("CertificateUntrusted", `the key that the token names is none of ${algorithm}`);
}

function trustFetched(algorithm: JwtConfig["algorithm"], { publicKey }: Material, jws: Jws): Trusted | undefined {
  return verifyJws(algorithm, publicKey, jws) ? { jws, key: undefined } : undefined;
}

function findTrusted(
  algorithm: JwtConfig["algorithm"],
  usable: readonly PreparedKey<JwsKey>[],
  jws: Jws,
): Trusted | undefined {
  const found = usable.find(({ material }) => verifyJws(algorithm, material, jws));
  return found && { jws, key: found.key };
}

function sign(
  { algorithm, header, prefix = "", bodyHashClaim }: JwtConfig,
  signer: PreparedKey<JwsKey> | undefined,
  input: SignInput,
  now: number,
): SignedParts {
  if (algorithm !== "HS256") throw cannotSign("only the provider has the private key");
  if (!(signer?.material instanceof HmacKey)) throw cannotSign("no usable key to sign with");
  const iat = Math.floor(now / 1_000);
  const bodyHash = bodyHashClaim && { [bodyHashClaim]: hash("sha256", input.body) };
  const signingInput = jwsSigningInput(
    { alg: algorithm, typ: "JWT" },
    { iat, exp: iat + LIFETIME_S, jti: input.id, ...bodyHash },
  );
  const signature = signer.material.digest([signingInput]).toString("base64url");
  return { headers: { ...input.headers, [header.toLowerCase()]: `${prefix}${signingInput}.${signature}` } };
}
